// The lists of objects that ranks send each other: whatever comes is so many objects or an error,
// and what was read travels on.
// Input: a byte of the count, what a rank sent.
#include "object/list.hpp"

#include "base/error.hpp"
#include "input.hpp"
#include "object/equal.hpp"

namespace {

using Bytes = std::span<const std::byte>;

std::vector<tutti::ObjectPointer> unpack(Bytes bytes, size_t count,
                                         const tutti::ObjectSettings& settings) {
    tutti::OwnedBytes list(bytes.size());
    std::copy(bytes.begin(), bytes.end(), list.block.data());
    return tutti::unpack_list(std::move(list), count, settings);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    tutti::fuzz::Input input(data, size);
    const size_t count = input.byte() % 5;
    tutti::ObjectSettings settings;
    settings.values = size_t{1} << 14;
    settings.decompressed_bytes = size_t{1} << 20;
    std::vector<tutti::ObjectPointer> objects;
    try {
        objects = unpack(input.rest(), count, settings);
    } catch (const tutti::Error& error) {
        FUZZ_EXPECT(error.status().code == TUTTI_ERR_INVALID_ARGUMENT);
        return 0;
    }
    FUZZ_EXPECT(objects.size() == count);
    settings.compress = true;
    settings.threshold = 64;
    const std::string list = tutti::pack_list(objects, settings);
    const auto again = unpack(std::as_bytes(std::span(list)), count, settings);
    for (size_t i = 0; i < count; ++i) {
        FUZZ_EXPECT(tutti::equal(*objects[i], 0, *again[i], 0));
        FUZZ_EXPECT(objects[i]->size() <= settings.values);
    }
    return 0;
}
