// The decoder of values: whatever comes is a value or an error that names a byte; in place or
// copied it means the same; and a value that was read is written, copied and found again.
// Input: a byte of limits, the message.
#include "object/decode.hpp"

#include <cstring>

#include "base/error.hpp"
#include "input.hpp"
#include "object/encode.hpp"
#include "object/equal.hpp"

namespace {

using tutti::Builder;
using tutti::Key;
using tutti::Object;
using tutti::OwnedBytes;
using Bytes = std::span<const std::byte>;
using ObjectPtr = std::shared_ptr<const Object>;

class Collected : public tutti::Sink {
public:
    void write(Bytes piece) override { bytes.insert(bytes.end(), piece.begin(), piece.end()); }
    std::vector<std::byte> bytes;
};

// Nothing, if the message is refused.
template <typename Decode>
ObjectPtr try_to(const Decode& decode) {
    try {
        return decode();
    } catch (const tutti::Error& error) {
        FUZZ_EXPECT(error.status().code == TUTTI_ERR_INVALID_ARGUMENT);
        FUZZ_EXPECT(error.status().message.find("at byte ") != std::string::npos);
        return nullptr;
    }
}

ObjectPtr decode_copied(Bytes bytes, const Builder::Most& most) {
    OwnedBytes message(bytes.size());
    std::copy(bytes.begin(), bytes.end(), message.block.data());
    return try_to([&] { return tutti::decode(std::move(message), most); });
}

void expect_all_is_found(const Object& object) {
    for (size_t node = 0; node < object.size(); ++node) {
        size_t child = node + 1;
        if (object[node].kind() == TUTTI_OBJECT_STRING) {
            const std::string_view text = object[node].text();
            FUZZ_EXPECT(text.data()[text.size()] == '\0');
        } else if (object[node].kind() == TUTTI_OBJECT_LIST) {
            for (uint64_t i = 0; i < object[node].size(); ++i, child = object.end(child)) {
                FUZZ_EXPECT(object.at(node, i) == child);
            }
            FUZZ_EXPECT(child == object.end(node));
        } else if (object[node].kind() == TUTTI_OBJECT_MAP) {
            for (; child < object.end(node); child = object.end(child + 1)) {
                FUZZ_EXPECT(object.find(node, Key(object[child])) == child + 1);
            }
        }
    }
}

void expect_same_again(const Object& object, const Builder::Most& most) {
    Collected written;
    tutti::encode(object, written);
    FUZZ_EXPECT(written.bytes.size() == tutti::encoded_size(object));
    const ObjectPtr again = decode_copied(written.bytes, most);
    FUZZ_EXPECT(again && tutti::equal(object, 0, *again, 0));
    FUZZ_EXPECT(tutti::equal(*again, 0, object, 0));
    Builder copy;
    copy.copy(object, 0);
    FUZZ_EXPECT(tutti::equal(object, 0, *copy.finish(), 0));
    Builder items;
    for (size_t node = 0; node < object.size(); ++node) {
        items.item(object.item(node), Builder::Memory::Copied);
    }
    FUZZ_EXPECT(tutti::equal(object, 0, *items.finish(), 0));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    tutti::fuzz::Input input(data, size);
    const uint8_t limits = input.byte();
    const Builder::Most most{size_t{1} << (limits & 15), size_t{1} << (limits >> 4)};
    const Bytes bytes = input.rest();
    const ObjectPtr copied = decode_copied(bytes, most);
    const ObjectPtr borrowed = try_to([&] { return tutti::decode_borrowed(bytes, most); });
    FUZZ_EXPECT((copied == nullptr) == (borrowed == nullptr));
    if (!copied) return 0;
    FUZZ_EXPECT(copied->size() <= most.nodes && copied->depth() <= most.depth);
    FUZZ_EXPECT(tutti::equal(*copied, 0, *borrowed, 0));
    expect_all_is_found(*copied);
    expect_all_is_found(*borrowed);
    expect_same_again(*copied, most);
    return 0;
}
