// An init method taken apart: "tcp://host:port?rank=0&world_size=4&timeout=30". Any thread, no side
// effects. INVALID_ARGUMENT shows the whole text and names the part that is wrong.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "net/address.hpp"

namespace tutti {

struct InitUrl {
    std::string text;    // as it was given
    std::string scheme;  // "tcp"; empty if there is no "://"
    std::string place;   // between "://" and "?"
    std::optional<int> rank = {};
    std::optional<int> world_size = {};
    std::optional<int64_t> timeout_ms = {};  // seconds in the text, with decimals if need be
    std::string others = {};                 // other parameters: "a=b&c=d"
};

// Throws if there are parameters that no scheme of ours has.
void refuse_others(const InitUrl& url);

InitUrl parse_init_url(const std::string& text);

// The place of a tcp:// URL: "host:port" or "[IPv6]:port", or either and a slash.
net::Endpoint parse_endpoint(const InitUrl& url);

// "[::1]" without its brackets, any other host as it is.
std::string without_brackets(const std::string& host);

}  // namespace tutti
