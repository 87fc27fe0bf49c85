// Makes an operation fail that this rank gives a NaN, and says where the first is. The thread that
// runs the operation; only memory of the CPU.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "record/observers.hpp"

namespace tutti::hooks {

class NanCheck final : public record::Observer {
public:
    void before(const record::Operation& operation) override;
};

// The first element that is NaN; of a complex one, either part. Nothing for dtypes without NaN.
std::optional<size_t> first_nan(std::span<const std::byte> bytes, tutti_dtype dtype);

}  // namespace tutti::hooks
