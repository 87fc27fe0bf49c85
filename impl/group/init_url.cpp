#include "init_url.hpp"

#include <algorithm>
#include <charconv>
#include <climits>
#include <cmath>

#include "base/environment.hpp"
#include "base/error.hpp"

namespace tutti {

namespace {

constexpr double max_timeout_s = 1e9;

[[noreturn]] void refuse_url(const InitUrl& url, const std::string& why) {
    throw Error(TUTTI_ERR_INVALID_ARGUMENT, cat("init method \"", url.text, "\": ", why));
}

void give(std::optional<int>& field, const std::string& name, const std::string& value, int lowest,
          const InitUrl& url) {
    const auto what = cat("parameter ", name, " of init method \"", url.text, "\"");
    if (field) refuse_url(url, cat("the parameter ", name, " stands there twice"));
    field = static_cast<int>(parse_number(value, what, lowest, INT_MAX));
}

void give_timeout(InitUrl& url, const std::string& value) {
    if (url.timeout_ms) refuse_url(url, "the parameter timeout stands there twice");
    double seconds = 0;
    const char* end = value.data() + value.size();
    const auto [stop, fault] = std::from_chars(value.data(), end, seconds);
    const bool number = fault == std::errc{} && stop == end;
    if (!number || !(seconds > 0) || seconds > max_timeout_s) {
        refuse_url(
            url, cat("the parameter timeout is \"", value, "\", not a number of seconds above 0"));
    }
    url.timeout_ms = static_cast<int64_t>(std::ceil(seconds * 1000));
}

void read_parameter(InitUrl& url, const std::string& text) {
    const auto equals = std::min(text.find('='), text.size());
    const auto name = text.substr(0, equals);
    const auto value = equals < text.size() ? text.substr(equals + 1) : "";
    if (name == "rank") return give(url.rank, name, value, 0, url);
    if (name == "world_size") return give(url.world_size, name, value, 1, url);
    if (name == "timeout") return give_timeout(url, value);
    url.others += cat(url.others.empty() ? "" : "&", text);
}

}  // namespace

void refuse_others(const InitUrl& url) {
    if (url.others.empty()) return;
    refuse_url(url, cat("the parameter \"", url.others.substr(0, url.others.find_first_of("=&")),
                        "\" is not known; there are rank, world_size and timeout"));
}

InitUrl parse_init_url(const std::string& text) {
    InitUrl url{.text = text, .scheme = {}, .place = {}};
    const auto separator = text.find("://");
    if (separator == std::string::npos) return url;
    url.scheme = text.substr(0, separator);
    const auto rest = text.substr(separator + 3);
    const auto question = std::min(rest.find('?'), rest.size());
    url.place = rest.substr(0, question);
    for (size_t begin = question + 1; begin < rest.size();) {
        const auto end = std::min(rest.find('&', begin), rest.size());
        if (end > begin) read_parameter(url, rest.substr(begin, end - begin));
        begin = end + 1;
    }
    return url;
}

net::Endpoint parse_endpoint(const InitUrl& url) {
    const auto malformed = [&](const char* why) {
        throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                    cat("init method \"", url.text, "\" is not tcp://host:port: ", why));
    };
    std::string place = url.place;
    if (place.ends_with('/')) place.pop_back();  // as URLs are often written
    std::string host;
    std::string rest;
    if (place.starts_with('[')) {
        const auto end = place.find(']');
        if (end == std::string::npos) malformed("the bracket does not close");
        host = place.substr(1, end - 1);
        rest = place.substr(end + 1);
    } else {
        const auto end = std::min(place.find(':'), place.size());
        host = place.substr(0, end);
        rest = place.substr(end);
        if (rest.find(':', 1) != std::string::npos) malformed("an IPv6 address needs brackets");
    }
    if (host.empty()) malformed("the host is missing");
    if (rest.size() < 2 || rest.front() != ':') malformed("the port is missing");
    const auto what = cat("the port of init method \"", url.text, "\"");
    const auto port = parse_number(rest.substr(1), what, 1, net::highest_port);
    return {host, static_cast<int>(port)};
}

std::string without_brackets(const std::string& host) {
    const bool has = host.size() > 2 && host.starts_with('[') && host.ends_with(']');
    return has ? host.substr(1, host.size() - 2) : host;
}

}  // namespace tutti
