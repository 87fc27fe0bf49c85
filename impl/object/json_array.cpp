#include "json_array.hpp"

#include <cstring>
#include <vector>

#include "base/text.hpp"
#include "half.hpp"
#include "json_text.hpp"
#include "reduce/reduce.hpp"

namespace tutti::json {

namespace {

// With more dimensions than this the data are one flat list: brackets would outweigh numbers.
constexpr int32_t max_nested = 8;

template <typename Element>
Element load(const std::byte* from) {
    Element element;
    std::memcpy(&element, from, sizeof element);  // at any address
    return element;
}

template <typename Real>
void append_complex(std::string& out, const std::byte* from) {
    out += '[';
    append_real(out, load<Real>(from));
    out += ", ";
    append_real(out, load<Real>(from + sizeof(Real)));
    out += ']';
}

void append_element(std::string& out, const std::byte* from, tutti_dtype dtype) {
    switch (dtype) {
        case TUTTI_INT8:
            out += std::to_string(load<int8_t>(from));
            return;
        case TUTTI_UINT8:
            out += std::to_string(load<uint8_t>(from));
            return;
        case TUTTI_INT16:
            out += std::to_string(load<int16_t>(from));
            return;
        case TUTTI_UINT16:
            out += std::to_string(load<uint16_t>(from));
            return;
        case TUTTI_INT32:
            out += std::to_string(load<int32_t>(from));
            return;
        case TUTTI_UINT32:
            out += std::to_string(load<uint32_t>(from));
            return;
        case TUTTI_INT64:
            out += std::to_string(load<int64_t>(from));
            return;
        case TUTTI_UINT64:
            out += std::to_string(load<uint64_t>(from));
            return;
        case TUTTI_FLOAT16:
            return append_real(out, static_cast<float>(widen(load<Float16Bits>(from))));
        case TUTTI_BFLOAT16:
            return append_real(out, static_cast<float>(widen(load<BFloat16Bits>(from))));
        case TUTTI_FLOAT32:
            return append_real(out, load<float>(from));
        case TUTTI_FLOAT64:
            return append_real(out, load<double>(from));
        case TUTTI_COMPLEX64:
            return append_complex<float>(out, from);
        case TUTTI_COMPLEX128:
            return append_complex<double>(out, from);
        default:  // the builder let no other in
            out += load<uint8_t>(from) != 0 ? "true" : "false";
    }
}

// For each dimension, outermost first, how many elements one list of it holds.
std::vector<size_t> list_sizes(const Array& array, size_t count) {
    std::vector<size_t> sizes;
    size_t size = count;
    for (int32_t i = 0; i < array.dimensions; ++i) {
        sizes.push_back(size);
        size /= static_cast<size_t>(array.shape[i]);
    }
    if (array.dimensions > max_nested) sizes.resize(1);
    return sizes;
}

void append_data(std::string& out, const Array& array, size_t count, size_t limit) {
    const std::vector<size_t> sizes = list_sizes(array, count);
    const size_t element = element_size(array.dtype);
    const auto* from = static_cast<const std::byte*>(array.data);
    for (size_t i = 0; i < count; ++i, from += element) {
        if (i > 0) out += ", ";
        for (const size_t size : sizes) {
            if (i % size == 0) out += '[';
        }
        if (out.size() >= limit) {
            out += "\"...\"";
            out.append(sizes.size(), ']');
            return;
        }
        append_element(out, from, array.dtype);
        for (const size_t size : sizes) {
            if ((i + 1) % size == 0) out += ']';
        }
    }
}

}  // namespace

void append_array(std::string& out, const Array& array, size_t count, size_t limit) {
    out += "{\"dtype\": \"";
    out += dtype_name(array.dtype);
    out += "\", \"shape\": [";
    for (int32_t i = 0; i < array.dimensions; ++i) {
        if (i > 0) out += ", ";
        out += std::to_string(array.shape[i]);
    }
    out += "], \"data\": ";
    if (count == 0) {
        out += "[]";
    } else {
        append_data(out, array, count, limit);
    }
    out += '}';
}

}  // namespace tutti::json
