// What is known of a reducer before its first pass, under the names of torch's DDPLoggingData.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "model.hpp"

namespace tutti {

struct Fact {
    const char* key;
    std::variant<bool, int64_t, std::string, std::vector<int64_t>> value;
};
using Facts = std::vector<Fact>;

// Those that this process has from elsewhere, read once: a program may change its environment
// later, on any thread.
Facts facts_of_environment();
Facts facts_of_model(const ReducerModel& model, const std::vector<int64_t>& bucket_sizes);

// As "key: value; key: value".
std::string text_of(const Facts& facts);
// As "1, 2, 3".
std::string text_of(const std::vector<int64_t>& numbers);

}  // namespace tutti
