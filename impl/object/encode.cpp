#include "encode.hpp"

#include <array>
#include <bit>
#include <cstring>

#include "base/error.hpp"
#include "format.hpp"
#include "limits.hpp"
#include "reduce/reduce.hpp"

namespace tutti {

namespace {

static_assert(std::endian::native == std::endian::little, "arrays are sent as they are in memory");

// Only counts.
class Counter {
public:
    void put(const void* /*data*/, size_t size) { position_ += size; }
    [[nodiscard]] size_t position() const { return position_; }

private:
    size_t position_ = 0;
};

// Collects small pieces, and lets large ones pass.
class Collector {
public:
    explicit Collector(Sink& sink) : sink_(sink) {}

    void put(const void* data, size_t size) {
        position_ += size;
        if (size > pieces_.size() - used_) {
            flush();
            if (size > pieces_.size() / 2) {
                sink_.write({static_cast<const std::byte*>(data), size});
                return;
            }
        }
        if (size > 0) std::memcpy(pieces_.data() + used_, data, size);
        used_ += size;
    }
    void flush() {
        if (used_ > 0) sink_.write({pieces_.data(), used_});
        used_ = 0;
    }
    [[nodiscard]] size_t position() const { return position_; }

private:
    Sink& sink_;
    std::array<std::byte, 4096> pieces_;
    size_t used_ = 0;
    size_t position_ = 0;
};

// A header's numbers are big endian.
template <typename Out>
void put_number(Out& out, uint64_t number, size_t size) {
    const uint64_t swapped = __builtin_bswap64(number);
    out.put(reinterpret_cast<const std::byte*>(&swapped) + (sizeof swapped - size), size);
}

template <typename Out>
void put_tagged(Out& out, uint8_t tag, uint64_t number, size_t size) {
    out.put(&tag, 1);
    put_number(out, number, size);
}

template <typename Out>
void put_tag(Out& out, unsigned tag) {
    const auto byte = static_cast<uint8_t>(tag);
    out.put(&byte, 1);
}

template <typename Out>
void put_unsigned(Out& out, uint64_t number) {
    if (number < 0x80) return put_tag(out, static_cast<unsigned>(number));
    if (number <= UINT8_MAX) return put_tagged(out, format::unsigned_8, number, 1);
    if (number <= UINT16_MAX) return put_tagged(out, format::unsigned_16, number, 2);
    if (number <= UINT32_MAX) return put_tagged(out, format::unsigned_32, number, 4);
    put_tagged(out, format::unsigned_64, number, 8);
}

template <typename Out>
void put_signed(Out& out, int64_t number) {
    const auto bits = static_cast<uint64_t>(number);
    if (number >= 0) return put_unsigned(out, bits);
    if (number >= -32) return put_tag(out, static_cast<unsigned>(bits & 0xff));
    if (number >= INT8_MIN) return put_tagged(out, format::signed_8, bits, 1);
    if (number >= INT16_MIN) return put_tagged(out, format::signed_16, bits, 2);
    if (number >= INT32_MIN) return put_tagged(out, format::signed_32, bits, 4);
    put_tagged(out, format::signed_64, bits, 8);
}

[[noreturn]] void refuse_size(const char* what, const std::string& size) {
    throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                cat(what, " of ", size, " is more than MessagePack can ", "carry (",
                    object_limits::encoded_count, ")"));
}

// The three tags with a count of 8, 16 or 32 bits; 0: there is none with 8.
struct Tags {
    uint8_t with_8;
    uint8_t with_16;
    uint8_t with_32;
};

template <typename Out>
void put_count(Out& out, const Tags& tags, uint64_t count, const char* what) {
    if (tags.with_8 != 0 && count <= UINT8_MAX) return put_tagged(out, tags.with_8, count, 1);
    if (count <= UINT16_MAX) return put_tagged(out, tags.with_16, count, 2);
    if (count <= object_limits::encoded_count) return put_tagged(out, tags.with_32, count, 4);
    refuse_size(what, cat(count));
}

template <typename Out>
void put_timestamp(Out& out, uint64_t seconds, uint64_t nanoseconds) {
    if (seconds <= UINT32_MAX && nanoseconds == 0) {
        put_tag(out, format::fix_extension_4);
        put_number(out, static_cast<uint8_t>(format::timestamp), 1);
        put_number(out, seconds, 4);
    } else if (seconds < uint64_t{1} << 34) {
        put_tag(out, format::fix_extension_8);
        put_number(out, static_cast<uint8_t>(format::timestamp), 1);
        put_number(out, nanoseconds << 34 | seconds, 8);
    } else {
        put_tagged(out, format::extension_8, 12, 1);
        put_number(out, static_cast<uint8_t>(format::timestamp), 1);
        put_number(out, nanoseconds, 4);
        put_number(out, seconds, 8);
    }
}

template <typename Out>
void put_array(Out& out, const Array& array, uint64_t count) {
    const uint64_t data = count * element_size(array.dtype);
    const auto dimensions = static_cast<size_t>(array.dimensions);
    const size_t before = format::array_header + dimensions * sizeof(int64_t);
    // Which header it gets does not depend on the padding, which depends on the header.
    const bool small = before + format::array_alignment - 1 + data <= UINT8_MAX;
    const size_t begin = out.position() + (small ? 3 : 6) + before;
    const size_t padding = -begin % format::array_alignment;
    const uint64_t size = before + padding + data;
    if (size > object_limits::encoded_count) {
        refuse_size("an array", cat(size, " bytes with its header"));
    }
    put_tagged(out, small ? format::extension_8 : format::extension_32, size, small ? 1 : 4);
    put_tag(out, static_cast<unsigned>(format::array));
    put_tag(out, array.dtype);
    put_tag(out, static_cast<unsigned>(dimensions));
    put_tag(out, static_cast<unsigned>(padding));
    put_tag(out, 0);
    constexpr std::array<std::byte, format::array_alignment> zeros{};
    out.put(array.shape, dimensions * sizeof(int64_t));
    out.put(zeros.data(), padding);
    out.put(array.data, data);
}

template <typename Out>
void put_node(Out& out, const Node& node) {
    constexpr Tags string_tags{format::string_8, format::string_16, format::string_32};
    constexpr Tags bytes_tags{format::bytes_8, format::bytes_16, format::bytes_32};
    constexpr Tags list_tags{0, format::list_16, format::list_32};
    constexpr Tags map_tags{0, format::map_16, format::map_32};
    const uint64_t size = node.size();
    switch (node.kind()) {
        case TUTTI_OBJECT_NIL:
            return put_tag(out, format::nil);
        case TUTTI_OBJECT_BOOL:
            return put_tag(out, node.bits() != 0 ? format::yes : format::no);
        case TUTTI_OBJECT_INT64:
            return put_signed(out, static_cast<int64_t>(node.bits()));
        case TUTTI_OBJECT_UINT64:
            return put_unsigned(out, node.bits());
        case TUTTI_OBJECT_FLOAT64:
            return put_tagged(out, format::float_64, node.bits(), 8);
        case TUTTI_OBJECT_STRING:
            if (size < 32) {
                put_tag(out, static_cast<unsigned>(format::fix_string | size));
            } else {
                put_count(out, string_tags, size, "a string");
            }
            return out.put(node.memory(), size);
        case TUTTI_OBJECT_BYTES:
            put_count(out, bytes_tags, size, "bytes");
            return out.put(node.memory(), size);
        case TUTTI_OBJECT_LIST:
            if (size < 16) return put_tag(out, static_cast<unsigned>(format::fix_list | size));
            return put_count(out, list_tags, size, "a list");
        case TUTTI_OBJECT_MAP:
            if (size < 16) return put_tag(out, static_cast<unsigned>(format::fix_map | size));
            return put_count(out, map_tags, size, "a map");
        case TUTTI_OBJECT_TIMESTAMP:
            return put_timestamp(out, node.bits(), size);
        default:
            return put_array(out, node.array(), size);
    }
}

template <typename Out>
void put_all(Out& out, const Object& object) {
    for (size_t node = 0; node < object.size(); ++node) put_node(out, object[node]);
}

}  // namespace

size_t encoded_size(const Object& object) {
    Counter counter;
    put_all(counter, object);
    return counter.position();
}

void encode(const Object& object, Sink& sink) {
    Collector collector(sink);
    put_all(collector, object);
    collector.flush();
}

}  // namespace tutti
