#include "elements.hpp"

#include <bit>
#include <concepts>
#include <cstring>
#include <limits>
#include <optional>

#include "base/error.hpp"
#include "exact.hpp"
#include "half.hpp"
#include "reduce/reduce.hpp"

namespace tutti {

namespace {

// How an element lies in memory, and how it becomes a value of a list and returns.
template <typename Number>
struct Integer {
    using Element = Number;
    static void add(Builder& builder, Number number) {
        if constexpr (std::signed_integral<Number>) {
            builder.signed_integer(number);
        } else {
            builder.unsigned_integer(number);
        }
    }
    static std::optional<Number> read(const Node& node) {
        if (node.kind() == TUTTI_OBJECT_UINT64) {
            if (!std::in_range<Number>(node.bits())) return std::nullopt;
            return static_cast<Number>(node.bits());
        }
        const auto value = static_cast<int64_t>(node.bits());
        if (node.kind() != TUTTI_OBJECT_INT64 || !std::in_range<Number>(value)) return std::nullopt;
        return static_cast<Number>(value);
    }
};

template <typename Number>
struct Real {
    using Element = Number;
    static void add(Builder& builder, Number number) { builder.real(widen(number)); }
    static std::optional<Number> read(const Node& node) {
        const auto value = exact_real(node);
        if (!value) return std::nullopt;
        return narrow<Number>(*value);
    }
};

struct Bool {
    using Element = uint8_t;
    static void add(Builder& builder, uint8_t value) { builder.boolean(value != 0); }
    static std::optional<uint8_t> read(const Node& node) {
        if (node.kind() != TUTTI_OBJECT_BOOL) return std::nullopt;
        return static_cast<uint8_t>(node.bits());
    }
};

// Calls visit with the format of the dtype.
template <typename Visit>
void with_format(tutti_dtype dtype, const Visit& visit) {
    switch (dtype) {
        case TUTTI_INT8:
            return visit(Integer<int8_t>());
        case TUTTI_UINT8:
            return visit(Integer<uint8_t>());
        case TUTTI_INT16:
            return visit(Integer<int16_t>());
        case TUTTI_UINT16:
            return visit(Integer<uint16_t>());
        case TUTTI_INT32:
            return visit(Integer<int32_t>());
        case TUTTI_UINT32:
            return visit(Integer<uint32_t>());
        case TUTTI_INT64:
            return visit(Integer<int64_t>());
        case TUTTI_UINT64:
            return visit(Integer<uint64_t>());
        case TUTTI_FLOAT16:
            return visit(Real<Float16Bits>());
        case TUTTI_BFLOAT16:
            return visit(Real<BFloat16Bits>());
        case TUTTI_FLOAT32:
            return visit(Real<float>());
        case TUTTI_FLOAT64:
            return visit(Real<double>());
        case TUTTI_BOOL:
            return visit(Bool());
        default:
            throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                        element_size(dtype) == 0
                            ? cat("dtype is ", dtype, ", no known dtype")
                            : cat("dtype is ", dtype_name(dtype), ", which a list cannot hold"));
    }
}

}  // namespace

void add_elements(Builder& builder, const void* data, size_t count, tutti_dtype dtype) {
    with_format(dtype, [&]<typename Format>(Format /*format*/) {
        const auto* from = static_cast<const std::byte*>(data);
        typename Format::Element element;
        for (size_t i = 0; i < count; ++i, from += sizeof element) {
            std::memcpy(&element, from, sizeof element);  // at any address
            Format::add(builder, element);
        }
    });
}

void get_elements(const Object& object, size_t list, uint64_t first, size_t count,
                  tutti_dtype dtype, void* out) {
    with_format(dtype, [&]<typename Format>(Format /*format*/) {
        if (count == 0) return;
        const size_t begin = object.at(list, first);
        size_t node = begin;
        for (size_t i = 0; i < count; ++i, node = object.end(node)) {
            if (Format::read(object[node])) continue;
            throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                        cat("the value at index ", first + i, " of the list, ",
                            kind_name(object[node].kind()), ", is no ", dtype_name(dtype),
                            ", or one that does not fit"));
        }
        auto* to = static_cast<std::byte*>(out);
        for (node = begin; count > 0; --count, ++node) {  // scalars, as was seen
            const auto element = *Format::read(object[node]);
            std::memcpy(to, &element, sizeof element);
            to += sizeof element;
        }
    });
}

}  // namespace tutti
