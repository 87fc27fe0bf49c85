// The time of the reductions of several inputs, in ns per element: plain ones at once beside the
// same step by step, exact sums beside plain ones; on ordinary and on hostile numbers. All that is
// compared is run in turn, round after round, and a ratio is the median of the rounds' ratios. One
// thread. reduce_bench [--quick]
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "reduce/reduce.hpp"

namespace tutti::test {
namespace {

enum class Kind { Normal, Wide, FullRange, Cancelling };
constexpr const char* kind_names[] = {"normal", "2^60", "full", "cancel"};

struct FreeMemory {
    void operator()(void* memory) const { std::free(memory); }
};
using Block = std::unique_ptr<void, FreeMemory>;

Block block_of(size_t bytes) {
    constexpr size_t page = 4096;
    void* const memory = std::aligned_alloc(page, (bytes + page - 1) / page * page);
    if (memory == nullptr) std::abort();
    std::memset(memory, 0, bytes);
    return Block(memory);
}

double number_of(Kind kind, int largest_exponent, std::mt19937_64& random) {
    std::normal_distribution<double> normal;
    if (kind == Kind::Normal) return normal(random);
    const int reach = kind == Kind::Wide ? 30 : largest_exponent;
    std::uniform_int_distribution<int> exponent(-reach, reach - 3);
    return std::ldexp(normal(random), exponent(random));
}

template <typename Number>
void fill(std::vector<Block>& inputs, size_t count, Kind kind) {
    std::mt19937_64 random(1);
    const int largest = std::ilogb(std::numeric_limits<Number>::max());
    const size_t half = inputs.size() / 2;
    for (size_t input = 0; input < inputs.size(); ++input) {
        auto* const numbers = static_cast<Number*>(inputs[input].get());
        // Far from each other, and seven in eight: the sums of the others are not 0.
        const bool is_opposite = kind == Kind::Cancelling && input >= half && input < 2 * half;
        const auto* const before =
            is_opposite ? static_cast<const Number*>(inputs[input - half].get()) : nullptr;
        // A few thousand different ones are enough, and quickly made.
        constexpr size_t different = 4096;
        for (size_t i = 0; i < count; ++i) {
            if (is_opposite && i % 8 != 0) {
                numbers[i] = -before[i];
            } else if (i < different) {
                numbers[i] = static_cast<Number>(number_of(kind, largest, random));
            } else {
                numbers[i] = numbers[i - different];
            }
        }
    }
}

double ns_per_element(const std::function<void()>& run, size_t count, size_t repeats) {
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    for (size_t i = 0; i < repeats; ++i) run();
    const std::chrono::duration<double, std::nano> taken = Clock::now() - start;
    return taken.count() / static_cast<double>(repeats * count);
}

double median_of(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

// The first two are what the others are compared with: step by step, and plain.
struct Candidate {
    const char* name;
    std::function<void()> run;
};

struct Effort {
    size_t rounds;
    size_t elements;  // a round of a candidate, about
};

void compare(const std::vector<Candidate>& candidates, size_t count, const Effort& effort) {
    std::vector<std::vector<double>> times(candidates.size());
    std::vector<std::vector<double>> ratios(candidates.size());
    const size_t repeats = std::max<size_t>(1, effort.elements / count);
    for (const Candidate& candidate : candidates) candidate.run();
    for (size_t round = 0; round < effort.rounds; ++round) {
        for (size_t i = 0; i < candidates.size(); ++i) {
            times[i].push_back(ns_per_element(candidates[i].run, count, repeats));
            ratios[i].push_back(times[i].back() / times[std::min<size_t>(i, 1)].back());
        }
    }
    for (size_t i = 0; i < candidates.size(); ++i) {
        std::printf("  %s %.3f", candidates[i].name, median_of(times[i]));
        if (i > 1) std::printf(" (x%.2f)", median_of(ratios[i]));
    }
    std::printf("\n");
}

template <typename Number>
void measure(tutti_dtype dtype, size_t number, size_t bytes, Kind kind, const Effort& effort) {
    const size_t count = bytes / sizeof(Number);
    std::vector<Block> inputs;
    std::vector<const void*> places;
    for (size_t i = 0; i < number; ++i) {
        inputs.push_back(block_of(bytes));
        places.push_back(inputs.back().get());
    }
    fill<Number>(inputs, count, kind);
    const Block block = block_of(bytes);
    void* const out = block.get();
    const auto step_by_step = [&] {
        reduce_to(out, places[0], places[1], count, dtype, TUTTI_SUM);
        for (size_t i = 2; i < number; ++i) {
            reduce_into(out, places[i], count, dtype, TUTTI_SUM);
        }
    };
    std::printf("%-9s n=%zu %6zu KiB %-7s", dtype_name(dtype), number, bytes / 1024,
                kind_names[static_cast<size_t>(kind)]);
    compare(
        {{"steps", step_by_step},
         {"plain", [&] { reduce_many(out, places, count, dtype, TUTTI_SUM); }},
         {"streaming",
          [&] { reduce_many(out, places, count, dtype, TUTTI_SUM, Stores::Streaming); }},
         {"exact", [&] { sum_exactly(out, places, count, dtype); }},
         {"exact streaming", [&] { sum_exactly(out, places, count, dtype, Stores::Streaming); }}},
        count, effort);
}

}  // namespace
}  // namespace tutti::test

int main(int arguments, char** argument) {
    using namespace tutti::test;
    const bool is_quick = arguments > 1 && std::strcmp(argument[1], "--quick") == 0;
    const Effort effort = is_quick ? Effort{1, 1} : Effort{9, 1U << 20};
    const size_t largest = is_quick ? 16 * 1024 : 16 * 1024 * 1024;
    for (const Kind kind : {Kind::Normal, Kind::Wide, Kind::FullRange, Kind::Cancelling}) {
        for (const size_t number : {3, 4, 8}) {
            for (const size_t kib : {16, 256, 16 * 1024}) {
                if (kib * 1024 > largest) continue;
                measure<float>(TUTTI_FLOAT32, number, kib * 1024, kind, effort);
                measure<double>(TUTTI_FLOAT64, number, kib * 1024, kind, effort);
            }
        }
    }
    return 0;
}
