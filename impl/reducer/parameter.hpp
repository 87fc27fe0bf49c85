// A reducer's facts of a parameter, and what a program asks of a reducer. Plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "call/view.hpp"

namespace tutti {

struct Parameter {
    int64_t count = 0;  // elements
    tutti_dtype dtype = TUTTI_FLOAT32;
    Device device{};
    std::string name{};  // empty: it goes by its index

    [[nodiscard]] size_t size() const { return static_cast<size_t>(count) * element_size(dtype); }
};

using Parameters = std::vector<Parameter>;
using Indices = std::vector<size_t>;

// How gradients travel: as they are, or floats as shorter numbers.
enum class Compression : uint8_t { None, Float16, BFloat16, Quantised };

struct ReducerOptions {
    bool find_unused_parameters = false;
    bool static_graph = false;
    bool keep_buckets = false;
    bool initial_broadcast = true;
    bool sum = false;
    size_t keep_micro_batches = 0;
    size_t bucket_cap = 25 * 1024 * 1024;  // bytes
    size_t first_bucket_cap = 1024 * 1024;
    int64_t timeout_ms = 0;  // 0: the group's
    double predivide = 1;
    void* stream = nullptr;  // of the program; null: the default one of the parameters' device

    // Whether buckets follow the order of arrival after the first synchronised pass.
    [[nodiscard]] bool rebuilds() const {
        return !keep_buckets && (static_graph || !find_unused_parameters);
    }
    // Whether ranks must tell each other, in a pass, which parameters they have used.
    [[nodiscard]] bool finds_unused() const { return find_unused_parameters && !static_graph; }
};

// `3 "fc.weight"`, or `3`.
std::string label_of(const Parameters& parameters, size_t index);
// The labels of the first ones, and how many more there are.
std::string names_of(const Parameters& parameters, const Indices& indices);

}  // namespace tutti
