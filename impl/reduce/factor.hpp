// The factor of a PREMUL_SUM: one number of some dtype, and the same number as other dtypes'
// kernels take it. Plain data, any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tutti/types.h"

namespace tutti {

class Factor {
public:
    // `data` is one element, of any alignment; INVALID_ARGUMENT for a bool.
    Factor(const void* data, tutti_dtype dtype);

    [[nodiscard]] tutti_dtype dtype() const { return dtype_; }
    // Whether a product of such a number and this factor is such a number: integers take integers,
    // floating point any real one, complex any.
    [[nodiscard]] bool fits(tutti_dtype dtype) const;
    [[nodiscard]] bool is_complex() const;
    // As ScaleKernel takes it, for a dtype it fits; scale_complex if it is complex.
    using Operand = std::array<std::byte, 16>;
    [[nodiscard]] Operand operand(tutti_dtype dtype) const;

private:
    void read(const void* data, tutti_dtype dtype);

    tutti_dtype dtype_;
    uint64_t integer_ = 0;  // of an integer, its bits extended
    double real_ = 0;       // of any
    double imaginary_ = 0;
};

}  // namespace tutti
