// Does every value come back as it was, and is it written as MessagePack's specification says?
#include "values.hpp"

#include "object/encode.hpp"

namespace {

using tutti::Array;
using tutti::Builder;
using tutti::ObjectSettings;
using tutti::test::make;
using tutti::test::ObjectPtr;
using tutti::test::raw;
using tutti::test::read;
using tutti::test::same;

template <typename Build>
void expect_bytes(Build&& build, const std::string& wanted) {
    const ObjectPtr object = make(build);
    const std::string message = tutti::pack(*object, {});
    assert_int_equal(message.size(), wanted.size());
    assert_memory_equal(message.data(), wanted.data(), wanted.size());
    assert_int_equal(tutti::encoded_size(*object), wanted.size());
    assert_true(same(object, read(message)));
}

void integers_are_as_short_as_can_be(void** /*state*/) {
    const auto expect = [](int64_t value, std::initializer_list<int> wanted) {
        expect_bytes([&](Builder& b) { b.signed_integer(value); }, raw(wanted));
    };
    expect(0, {0});
    expect(127, {0x7f});
    expect(128, {0xcc, 0x80});
    expect(255, {0xcc, 0xff});
    expect(256, {0xcd, 1, 0});
    expect(65535, {0xcd, 0xff, 0xff});
    expect(65536, {0xce, 0, 1, 0, 0});
    expect(UINT32_MAX, {0xce, 0xff, 0xff, 0xff, 0xff});
    expect(int64_t{UINT32_MAX} + 1, {0xcf, 0, 0, 0, 1, 0, 0, 0, 0});
    expect(INT64_MAX, {0xcf, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff});
    expect(-1, {0xff});
    expect(-32, {0xe0});
    expect(-33, {0xd0, 0xdf});
    expect(-128, {0xd0, 0x80});
    expect(-129, {0xd1, 0xff, 0x7f});
    expect(-32768, {0xd1, 0x80, 0});
    expect(-32769, {0xd2, 0xff, 0xff, 0x7f, 0xff});
    expect(INT32_MIN, {0xd2, 0x80, 0, 0, 0});
    expect(int64_t{INT32_MIN} - 1, {0xd3, 0xff, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff});
    expect(INT64_MIN, {0xd3, 0x80, 0, 0, 0, 0, 0, 0, 0});
    expect_bytes([](Builder& b) { b.unsigned_integer(UINT64_MAX); },
                 raw({0xcf, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}));
}

void every_bit_of_a_float_is_kept(void** /*state*/) {
    for (const uint64_t bits : {uint64_t{0}, uint64_t{1} << 63, uint64_t{1},
                                uint64_t{0x7ff0'0000'0000'0000}, uint64_t{0xfff0'0000'0000'0000},
                                uint64_t{0x7ff0'0000'0000'0001}, uint64_t{0x7ff8'0000'0000'0000},
                                uint64_t{0xffff'ffff'ffff'ffff}, uint64_t{0x7ff7'0123'4567'89ab}}) {
        const ObjectPtr object = make([&](Builder& b) { b.real(std::bit_cast<double>(bits)); });
        const ObjectPtr back = read(tutti::pack(*object, {}));
        assert_true((*back)[0].bits() == bits);
    }
    // Others send float32: the same number, and the same kind of NaN.
    assert_true((*read(raw({0xca, 0x3f, 0, 0, 0})))[0].real() == 0.5);
    assert_true((*read(raw({0xca, 0xff, 0x80, 0, 0})))[0].real() == -INFINITY);
    assert_true((*read(raw({0xca, 0x7f, 0x80, 0, 1})))[0].bits() == 0x7ff0'0000'2000'0000);
}

void timestamps_are_messagepacks_own(void** /*state*/) {
    const auto expect = [](int64_t seconds, int64_t nanoseconds,
                           std::initializer_list<int> wanted) {
        expect_bytes([&](Builder& b) { b.timestamp(seconds, nanoseconds); }, raw(wanted));
    };
    expect(0, 0, {0xd6, 0xff, 0, 0, 0, 0});
    expect(UINT32_MAX, 0, {0xd6, 0xff, 0xff, 0xff, 0xff, 0xff});
    expect(1, 1, {0xd7, 0xff, 0, 0, 0, 4, 0, 0, 0, 1});
    expect((int64_t{1} << 34) - 1, 999'999'999,
           {0xd7, 0xff, 0xee, 0x6b, 0x27, 0xff, 0xff, 0xff, 0xff, 0xff});
    expect(int64_t{1} << 34, 0, {0xc7, 12, 0xff, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0});
    expect(-1, 5, {0xc7, 12, 0xff, 0, 0, 0, 5, 255, 255, 255, 255, 255, 255, 255, 255});
}

void headers_fit_the_size(void** /*state*/) {
    for (const size_t size : {0U, 1U, 15U, 16U, 31U, 32U, 255U, 256U, 65535U, 65536U, 200000U}) {
        const std::string text(size, 'x');
        const ObjectPtr object = make([&](Builder& builder) {
            builder.list(5);
            builder.string(text);
            builder.bytes(text.data(), size, Builder::Memory::Copied);
            builder.list(size);
            for (size_t i = 0; i < size; ++i) builder.nil();
            builder.map(size);
            for (size_t i = 0; i < size; ++i) {
                builder.unsigned_integer(i);
                builder.nil();
            }
            const int64_t shape[] = {static_cast<int64_t>(size)};
            builder.array({text.data(), shape, TUTTI_UINT8, 1}, Builder::Memory::Copied);
        });
        const std::string message = tutti::pack(*object, {});
        assert_int_equal(message.size(), tutti::encoded_size(*object));
        assert_true(same(object, read(message)));
        assert_int_equal(object->size(), 6 + 3 * size);
    }
}

void an_array_is_what_the_header_says(void** /*state*/) {
    const int16_t data[] = {1, -2, 3, 4, 5, 6};
    const int64_t shape[] = {2, 3};
    expect_bytes(
        [&](Builder& b) {
            b.array({data, shape, TUTTI_INT16, 2}, Builder::Memory::Copied);
        },
        // ext 8: size, type; dtype, dimensions, padding up to byte 24, 0; shape; elements.
        raw({0xc7, 33, 84, 2, 2, 1, 0, 2, 0,    0,    0, 0, 0, 0, 0, 3, 0, 0,
             0,    0,  0,  0, 0, 0, 1, 0, 0xfe, 0xff, 3, 0, 4, 0, 5, 0, 6, 0}));
}

void arrays_begin_at_multiples_of_8_and_stay_in_the_message(void** /*state*/) {
    for (size_t before = 0; before < 20; ++before) {
        const std::string text(before, 'x');
        const std::vector<double> data(before * 7, 1.5);
        const int64_t shape[] = {7, static_cast<int64_t>(before)};
        const ObjectPtr object = make([&](Builder& builder) {
            builder.list(2);
            builder.string(text);
            builder.array({data.data(), shape, TUTTI_FLOAT64, 2}, Builder::Memory::Kept);
        });
        assert_true((*object)[2].array().data == data.data());
        const std::string message = tutti::pack(*object, {});
        std::vector<uint64_t> aligned(message.size() / 8 + 1);
        std::memcpy(aligned.data(), message.data(), message.size());
        const auto* begin = reinterpret_cast<const std::byte*>(aligned.data());
        const ObjectPtr borrowed = tutti::unpack_borrowed({begin, message.size()}, {});
        const auto* place = static_cast<const std::byte*>((*borrowed)[2].array().data);
        assert_true(place >= begin && place <= begin + message.size());
        assert_int_equal((place - begin) % 8, 0);
        assert_true(same(object, borrowed));
        // In a message that is not aligned they are moved to where they can be read.
        std::vector<std::byte> shifted(message.size() + 1);
        std::memcpy(shifted.data() + 1, message.data(), message.size());
        const ObjectPtr moved = tutti::unpack_borrowed({shifted.data() + 1, message.size()}, {});
        assert_int_equal(reinterpret_cast<uintptr_t>((*moved)[2].array().data) % 8, 0);
        assert_true(same(object, moved));
    }
}

void strings_end_with_a_nul(void** /*state*/) {
    const ObjectPtr object = make([](Builder& builder) {
        builder.list(4);
        builder.string("one");
        builder.string("");
        builder.string("three");
        builder.string(std::string_view("fo\0r", 4));
    });
    const std::string message = tutti::pack(*object, {});
    for (const ObjectPtr& back :
         {object, read(message), tutti::unpack_borrowed(tutti::test::bytes_of(message), {})}) {
        for (size_t node = 1; node < 5; ++node) {
            const std::string_view text = (*back)[node].text();
            assert_int_equal(text.data()[text.size()], 0);
        }
        assert_true((*back)[4].text() == std::string_view("fo\0r", 4));
        assert_true(same(object, back));
    }
}

void random_values_come_back(void** /*state*/) {
    const uint32_t seed = tutti::test::printed_seed();
    tutti::test::Random random(seed);
    for (int round = 0; round < 1000; ++round) {
        const ObjectPtr object = random.value(1 + random.below(300));
        ObjectSettings settings;
        settings.compress = round % 2 == 1;
        settings.threshold = 1 + random.below(1000);
        settings.level = static_cast<int>(random.below(6)) - 2;
        const std::string message = tutti::pack(*object, settings);
        assert_true(same(object, read(message)));
        assert_true(same(object, tutti::unpack_borrowed(tutti::test::bytes_of(message), {})));
        assert_true(tutti::pack(*read(message), settings) == message);
    }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(integers_are_as_short_as_can_be),
        TUTTI_TEST(every_bit_of_a_float_is_kept),
        TUTTI_TEST(timestamps_are_messagepacks_own),
        TUTTI_TEST(headers_fit_the_size),
        TUTTI_TEST(an_array_is_what_the_header_says),
        TUTTI_TEST(arrays_begin_at_multiples_of_8_and_stay_in_the_message),
        TUTTI_TEST(strings_end_with_a_nul),
        TUTTI_TEST(random_values_come_back),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
