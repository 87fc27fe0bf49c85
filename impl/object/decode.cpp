#include "decode.hpp"

#include <bit>
#include <cstdint>
#include <cstring>

#include "base/error.hpp"
#include "base/utf8.hpp"
#include "format.hpp"
#include "reduce/reduce.hpp"

namespace tutti {

namespace {

// The owner of the message decides whether strings may stay in it: they want a NUL behind them,
// which is written there as soon as the byte it replaces has been read.
enum class Strings { Stay, Copied };

class Decoder {
public:
    Decoder(const std::byte* message, size_t size, Strings strings, const Builder::Most& most)
        : begin_(reinterpret_cast<const uint8_t*>(message)),
          size_(size),
          strings_(strings),
          builder_(most) {}

    void run() {
        size_t value = 0;
        try {
            do {
                value = at_;
                decode_value();
            } while (!builder_.complete());
            value = at_;
            if (is_pickle()) refuse("it is a pickle of Python's, which is code, and never read");
            if (left() > 0) refuse(left(), " bytes follow the value");
        } catch (const Error& error) {
            if (error.status().code != TUTTI_ERR_INVALID_ARGUMENT) throw;
            refuse("the message is no value: at byte ", value, ", ", error.what());
        }
        end_string();
    }

    Builder& builder() { return builder_; }

private:
    [[nodiscard]] size_t left() const { return size_ - at_; }

    // As every protocol since 2 begins and ends it; in MessagePack that is an empty map, and more.
    [[nodiscard]] bool is_pickle() const {
        return at_ == 1 && size_ > 2 && begin_[0] == 0x80 && begin_[1] >= 2 && begin_[1] <= 5 &&
               begin_[size_ - 1] == '.';
    }

    const uint8_t* take(uint64_t size) {
        if (size > left()) {
            refuse("it ends too early: ", size, " bytes should follow, and ", left(), " do");
        }
        const uint8_t* place = begin_ + at_;
        at_ += static_cast<size_t>(size);
        return place;
    }

    // A big-endian number of 1, 2, 4 or 8 bytes.
    uint64_t take_number(size_t size) {
        const uint8_t* place = take(size);
        uint64_t number = 0;
        for (size_t i = 0; i < size; ++i) number = number << 8 | place[i];
        return number;
    }
    int64_t take_signed(size_t size) {
        const auto unused = static_cast<int>(64 - 8 * size);
        return static_cast<int64_t>(take_number(size) << unused) >> unused;
    }

    void end_string() {
        if (open_string_ != nullptr) *open_string_ = 0;
        open_string_ = nullptr;
    }

    void decode_value() {
        const uint8_t tag = *take(1);
        end_string();
        if (tag < format::fix_map) return builder_.unsigned_integer(tag);
        if (tag >= format::fix_negative) return builder_.signed_integer(static_cast<int8_t>(tag));
        if (tag < format::fix_list) return map(tag & 0xf);
        if (tag < format::fix_string) return list(tag & 0xf);
        if (tag < format::nil) return string(tag & 0x1f);
        tagged(tag);
    }

    void tagged(uint8_t tag) {
        switch (tag) {
            case format::nil:
                return builder_.nil();
            case format::no:
            case format::yes:
                return builder_.boolean(tag == format::yes);
            case format::bytes_8:
            case format::bytes_16:
            case format::bytes_32:
                return bytes(take_number(size_t{1} << (tag - format::bytes_8)));
            case format::extension_8:
            case format::extension_16:
            case format::extension_32:
                return extension(take_number(size_t{1} << (tag - format::extension_8)));
            case format::float_32:
                return builder_.real(widened(static_cast<uint32_t>(take_number(4))));
            case format::float_64:
                return builder_.real(std::bit_cast<double>(take_number(8)));
            case format::unsigned_8:
            case format::unsigned_16:
            case format::unsigned_32:
            case format::unsigned_64:
                return builder_.unsigned_integer(
                    take_number(size_t{1} << (tag - format::unsigned_8)));
            case format::signed_8:
            case format::signed_16:
            case format::signed_32:
            case format::signed_64:
                return builder_.signed_integer(take_signed(size_t{1} << (tag - format::signed_8)));
            case format::fix_extension_1:
            case format::fix_extension_2:
            case format::fix_extension_4:
            case format::fix_extension_8:
            case format::fix_extension_16:
                return extension(uint64_t{1} << (tag - format::fix_extension_1));
            case format::string_8:
            case format::string_16:
            case format::string_32:
                return string(take_number(size_t{1} << (tag - format::string_8)));
            case format::list_16:
            case format::list_32:
                return list(take_number(tag == format::list_16 ? 2 : 4));
            case format::map_16:
            case format::map_32:
                return map(take_number(tag == format::map_16 ? 2 : 4));
            default:
                refuse("there is the byte ", int{tag}, ", which MessagePack does not use");
        }
    }

    // All its bits, as the processor would not: it quiets a signalling NaN.
    static double widened(uint32_t bits) {
        const bool special = (bits & 0x7f80'0000) == 0x7f80'0000;
        if (!special) return std::bit_cast<float>(bits);
        return std::bit_cast<double>(uint64_t{bits & 0x8000'0000} << 32 | 0x7ff0'0000'0000'0000 |
                                     uint64_t{bits & 0x007f'ffff} << 29);
    }

    // Each value takes a byte at least, each pair two.
    void check_count(uint64_t count, uint64_t bytes_each) const {
        if (count > left() / bytes_each) {
            refuse("it should hold ", count, bytes_each == 1 ? " values" : " pairs", ", and only ",
                   left(), " bytes follow");
        }
    }
    void list(uint64_t count) {
        check_count(count, 1);
        builder_.list(count);
    }
    void map(uint64_t count) {
        check_count(count, 2);
        builder_.map(count);
    }

    void string(uint64_t size) {
        const size_t start = at_;
        const auto* text = reinterpret_cast<const char*>(take(size));
        const std::string_view view(text, static_cast<size_t>(size));
        if (const auto fault = utf8_fault(view)) {
            refuse("the string is not UTF-8 at byte ", start + *fault);
        }
        if (strings_ == Strings::Copied) return builder_.copied_string(view);
        builder_.kept_string(view);
        open_string_ = const_cast<uint8_t*>(begin_ + at_);
    }

    void bytes(uint64_t size) {
        const uint8_t* data = take(size);
        builder_.bytes(data, static_cast<size_t>(size), Builder::Memory::Kept);
    }

    void extension(uint64_t size) {
        const auto type = static_cast<int8_t>(*take(1));
        if (size > left()) take(size);  // refuses
        const size_t end = at_ + static_cast<size_t>(size);
        if (type == format::timestamp) {
            timestamp(size);
        } else if (type == format::array) {
            array(end);
        } else {
            refuse("there is an extension of type ", int{type}, ", which tutti does not know");
        }
    }

    void timestamp(uint64_t size) {
        if (size == 4) return builder_.timestamp(static_cast<int64_t>(take_number(4)), 0);
        if (size == 8) {
            const uint64_t both = take_number(8);
            constexpr uint64_t seconds = (uint64_t{1} << 34) - 1;
            return builder_.timestamp(static_cast<int64_t>(both & seconds),
                                      static_cast<int64_t>(both >> 34));
        }
        if (size != 12) refuse("a timestamp has ", size, " bytes; it must have 4, 8 or 12");
        const auto nanoseconds = static_cast<int64_t>(take_number(4));
        builder_.timestamp(static_cast<int64_t>(take_number(8)), nanoseconds);
    }

    void array(size_t end) {
        if (end - at_ < format::array_header) refuse("an array has no header");
        const uint8_t* header = take(format::array_header);
        const size_t dimensions = header[1];
        const size_t padding = header[2];
        if (padding >= format::array_alignment || header[3] != 0) {
            refuse("an array has a header that tutti does not know");
        }
        if (end - at_ < dimensions * sizeof(int64_t) + padding) refuse("an array has no shape");
        int64_t shape[UINT8_MAX];
        if (dimensions > 0) {
            const size_t size = dimensions * sizeof(int64_t);
            std::memcpy(shape, take(size), size);  // little endian, as here
        }
        take(padding);
        const uint8_t* data = begin_ + at_;
        const Array array{data, shape, header[0], static_cast<int32_t>(dimensions)};
        const size_t size = end - at_;
        const uint64_t wanted = count_elements(array) * element_size(array.dtype);
        if (wanted != size) {
            refuse("an array has ", size, " bytes of elements, and its shape wants ", wanted);
        }
        at_ = end;
        const bool aligned = reinterpret_cast<uintptr_t>(data) % format::array_alignment == 0;
        builder_.array(array, aligned ? Builder::Memory::Kept : Builder::Memory::Copied);
    }

    const uint8_t* const begin_;
    const size_t size_;
    const Strings strings_;
    size_t at_ = 0;
    uint8_t* open_string_ = nullptr;  // where the NUL of the last string is due
    Builder builder_;
};

}  // namespace

std::shared_ptr<const Object> decode(std::span<std::byte> message,
                                     std::shared_ptr<const void> memory,
                                     const Builder::Most& most) {
    Decoder decoder(message.data(), message.size(), Strings::Stay, most);
    decoder.run();
    decoder.builder().keep(std::move(memory));
    return decoder.builder().finish();
}

std::shared_ptr<const Object> decode(OwnedBytes message, const Builder::Most& most) {
    const auto kept = std::make_shared<const OwnedBytes>(std::move(message));
    return decode(kept->bytes(), kept, most);
}

std::shared_ptr<const Object> decode_borrowed(std::span<const std::byte> message,
                                              const Builder::Most& most) {
    Decoder decoder(message.data(), message.size(), Strings::Copied, most);
    decoder.run();
    return decoder.builder().finish();
}

}  // namespace tutti
