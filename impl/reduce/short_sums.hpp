// Sums of float16 and bfloat16: accumulated in float32 and rounded once, or left as float32 and
// rounded later. Part of the kernels: sweep.hpp says what that means. Any thread.
#pragma once

#include "float16.hpp"

namespace tutti {
namespace {

// For sweep_many(): the inputs are added in their order; `averages`: the sum is divided by their
// number.
template <typename Format, bool averages>
struct ShortSum {
    using Unit = uint16_t;

    template <size_t bytes, typename Places>
    Raw<bytes> of(Places places, size_t number) const {
        if (number == 1 && !averages) return load<Raw<bytes>>(places[0]);
        auto sum = wide_sum<bytes>(places, number);
        if (averages) {
            const auto divisor = static_cast<float>(number);
            sum = {sum.first / divisor, sum.second / divisor};
        }
        return Format::template narrow<bytes>(
            {one_nan<Float32, bytes>(sum.first), one_nan<Float32, bytes>(sum.second)});
    }

    template <size_t bytes, typename Places>
    static Wide<bytes> wide_sum(Places places, size_t number) {
        auto sum = Format::template widen<bytes>(load<Raw<bytes>>(places[0]));
        for (size_t i = 1; i < number; ++i) {
            const auto next = Format::template widen<bytes>(load<Raw<bytes>>(places[i]));
            sum.first += next.first;
            sum.second += next.second;
        }
        return sum;
    }
};

// out[i] = the sum of the inputs' i-th elements, as float32. The last vector may overlap the one
// before it; `out` is none of the inputs.
template <typename Format>
void sum_to_float32(void* out, const void* const* inputs, size_t number, size_t count) {
    constexpr size_t bytes = widest;
    const size_t size = count * sizeof(uint16_t);
    auto* const to = static_cast<uint8_t*>(out);
    using Sum = ShortSum<Format, false>;
    const auto write = [&](size_t at) {
        const auto sum = Format::template in_order<bytes>(
            Sum::template wide_sum<bytes>(Together{inputs, at}, number));
        store(to + 2 * at, one_nan<Float32, bytes>(sum.first));
        store(to + 2 * at + bytes, one_nan<Float32, bytes>(sum.second));
    };
    if (size >= bytes) {
        const size_t last = size - bytes;
        for (size_t at = 0; at < last; at += bytes) write(at);
        return write(last);
    }
    for (size_t at = 0; at < size; at += sizeof(uint16_t)) {
        const auto sum = Format::template in_order<narrowest>(
            Sum::template wide_sum<narrowest>(Alone<uint16_t>{inputs, at}, number));
        store(to + 2 * at, one_nan<Float32, narrowest>(sum.first)[0]);
    }
}

// out[i] = sums[i] / divisor, rounded. No overlap.
template <typename Format>
void round_float32(void* out, const void* sums, size_t count, float divisor) {
    constexpr size_t bytes = widest;
    const size_t size = count * sizeof(uint16_t);
    auto* const to = static_cast<uint8_t*>(out);
    const auto* const from = static_cast<const uint8_t*>(sums);
    const auto write = [&](size_t at) {
        const Wide<bytes> sum{load<Lanes<float, bytes>>(from + 2 * at) / divisor,
                              load<Lanes<float, bytes>>(from + 2 * at + bytes) / divisor};
        store(to + at,
              Format::template narrow<bytes>(Format::template from_order<bytes>(
                  {one_nan<Float32, bytes>(sum.first), one_nan<Float32, bytes>(sum.second)})));
    };
    if (size >= bytes) {
        const size_t last = size - bytes;
        for (size_t at = 0; at < last; at += bytes) write(at);
        return write(last);
    }
    for (size_t at = 0; at < size; at += sizeof(uint16_t)) {
        const Lanes<float, narrowest> sum = {load<float>(from + 2 * at) / divisor};
        const Wide<narrowest> alone{one_nan<Float32, narrowest>(sum), {}};
        const auto result =
            Format::template narrow<narrowest>(Format::template from_order<narrowest>(alone));
        store(to + at, as<Lanes<uint16_t, narrowest>>(result)[0]);
    }
}

}  // namespace
}  // namespace tutti
