// Messages from a stranger: cut, corrupted, lying, beyond the limits. Each is an error that names
// the byte, and takes no memory for what is only promised.
#include "values.hpp"

namespace {

using tutti::Builder;
using tutti::ObjectSettings;
using tutti::test::bytes_of;
using tutti::test::make;
using tutti::test::ObjectPtr;
using tutti::test::raw;
using tutti::test::read;
using tutti::test::same;

void expect_refusal(const std::string& message, const char* why,
                    const ObjectSettings& settings = {}) {
    TUTTI_EXPECT_ERROR(read(message, settings), TUTTI_ERR_INVALID_ARGUMENT, why);
    TUTTI_EXPECT_ERROR(tutti::unpack_borrowed(bytes_of(message), settings),
                       TUTTI_ERR_INVALID_ARGUMENT, why);
}

void malformed_messages_are_refused_with_the_byte(void** /*state*/) {
    expect_refusal("", "at byte 0, it ends too early");
    expect_refusal(raw({0xc1}), "at byte 0, there is the byte 193");
    expect_refusal(raw({0x92, 1}), "at byte 0, it should hold 2 values, and only 1 bytes follow");
    expect_refusal(raw({0x92, 1, 0x92, 1}), "at byte 2, it should hold 2 values");
    expect_refusal(raw({0xc0, 0xc0, 0xc0}), "at byte 1, 2 bytes follow the value");
    expect_refusal(raw({0x80, 4, 'N', '.'}), "it is a pickle of Python's");
    expect_refusal(raw({0x92, 1, 0xa2, 'x', 0x80}), "the string is not UTF-8 at byte 4");
    expect_refusal(raw({0x92, 1, 0xa3, 'x'}), "at byte 2, it ends too early: 3 bytes should");
    expect_refusal(raw({0x81, 0xc0, 1}), "at byte 1, a key of a map is due here");
    expect_refusal(raw({0x82, 1, 1, 0xcc, 1, 1}), "at byte 5, the key 1 is in the map twice");
    expect_refusal(raw({0xd4, 5, 1}), "at byte 0, there is an extension of type 5");
    expect_refusal(raw({0xd4, 0xff, 1}), "a timestamp has 1 bytes");
    expect_refusal(raw({0xd7, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}), "nanoseconds is");
    expect_refusal(raw({0xd6}), "ends too early");
}

void lying_counts_are_refused_at_once(void** /*state*/) {
    for (const int tag : {0xdd, 0xdf}) {
        expect_refusal(raw({tag, 0xff, 0xff, 0xff, 0xff}), "should hold 4294967295");
    }
    for (const int tag : {0xc6, 0xdb}) {
        expect_refusal(raw({tag, 0xff, 0xff, 0xff, 0xff, 'x'}), "4294967295 bytes should follow");
    }
    expect_refusal(raw({0xc9, 0xff, 0xff, 0xff, 0xff, 84, 0, 0, 0, 0}), "ends too early");
    // A list of lists, each of which promises what is left.
    expect_refusal(std::string(1000, '\x91'), "at byte 999, it should hold 1 values",
                   ObjectSettings{.depth = 100000});
}

void malformed_arrays_are_refused(void** /*state*/) {
    const auto array = [](std::initializer_list<int> rest) {
        return raw({0xc7, static_cast<int>(rest.size()), 84}) + raw(rest);
    };
    expect_refusal(array({0, 0, 0}), "an array has no header");
    expect_refusal(array({0, 1, 0, 0}), "an array has no shape");
    expect_refusal(array({0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}), "header that tutti does not");
    expect_refusal(array({0, 0, 0, 1, 0}), "header that tutti does not know");
    expect_refusal(array({15, 0, 0, 0, 0}), "dtype is 15");
    expect_refusal(array({0, 0, 0, 0}), "has 0 bytes of elements, and its shape wants 1");
    expect_refusal(array({0, 0, 0, 0, 1, 2}), "has 2 bytes of elements, and its shape wants 1");
    expect_refusal(array({0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80}), "shape[0] is -9223372036");
    expect_refusal(array({6, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x20}), "more elements than memory");
    assert_int_equal(read(array({0, 0, 3, 0, 0, 0, 0, 9}))->size(), 1);
    assert_int_equal(read(array({0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}))->size(), 1);
}

void limits_hold(void** /*state*/) {
    ObjectSettings settings;
    settings.depth = 2;
    expect_refusal(raw({0x91, 0x91, 0x91, 1}), "at byte 2, lists and maps are more than 2 deep",
                   settings);
    assert_int_equal(read(raw({0x91, 0x91, 1}), settings)->depth(), 2);
    settings.values = 3;
    expect_refusal(raw({0x93, 1, 1, 1}), "at byte 0, there are more than 3 values", settings);
    expect_refusal(raw({0x82, 1, 1, 2, 2}), "more than 3 values", settings);
    assert_int_equal(read(raw({0x92, 1, 1}), settings)->size(), 3);
    settings.message_bytes = 2;
    expect_refusal(raw({0x92, 1, 1}), "the message has 3 bytes, and the limit is 2", settings);
    // Written values keep to them, too.
    const ObjectPtr object = read(raw({0x92, 0x91, 1, 1}));
    const auto refuses = [&](const ObjectSettings& limited, const char* why) {
        TUTTI_EXPECT_ERROR(tutti::pack(*object, limited), TUTTI_ERR_INVALID_ARGUMENT, why);
    };
    refuses({.message_bytes = 3}, "the value takes 4 bytes, and the limit is 3");
    refuses({.values = 3}, "the object has 4 values, and the limit is 3");
    refuses({.depth = 1}, "lists and maps are 2 deep inside each other, and the limit is 1");
}

void longer_forms_than_needed_are_read(void** /*state*/) {
    const auto reads_as = [](const std::string& message, auto&& build) {
        assert_true(same(read(message), make(build)));
    };
    const auto five = [](Builder& b) { b.signed_integer(5); };
    reads_as(raw({0xcc, 5}), five);
    reads_as(raw({0xd3, 0, 0, 0, 0, 0, 0, 0, 5}), five);
    reads_as(raw({0xd1, 0xff, 0xff}), [](Builder& b) { b.signed_integer(-1); });
    reads_as(raw({0xdb, 0, 0, 0, 1, 'x'}), [](Builder& b) { b.string("x"); });
    reads_as(raw({0xdd, 0, 0, 0, 0}), [](Builder& b) { b.list(0); });
    reads_as(raw({0xde, 0, 1, 1, 2}), [](Builder& b) {
        b.map(1);
        b.signed_integer(1);
        b.signed_integer(2);
    });
    reads_as(raw({0xc8, 0, 4, 0xff, 0, 0, 0, 7}), [](Builder& b) { b.timestamp(7, 0); });
}

// A value with everything in it.
std::string sample() {
    return tutti::pack(*make([](Builder& builder) {
        const int64_t shape[] = {2, 2};
        const float data[] = {1, 2, 3, 4};
        builder.map(5);
        builder.string("list");
        builder.list(3);
        builder.nil();
        builder.real(0.5);
        builder.boolean(true);
        builder.string("bytes");
        builder.bytes("12345", 5, Builder::Memory::Copied);
        builder.signed_integer(-70000);
        builder.timestamp(1'700'000'000, 5);
        builder.string("array");
        builder.array({data, shape, TUTTI_FLOAT32, 2}, Builder::Memory::Copied);
        builder.string("empty");
        builder.map(0);
    }),
                       {});
}

void every_cut_is_an_error(void** /*state*/) {
    const std::string message = sample();
    assert_non_null(read(message).get());
    for (size_t size = 0; size < message.size(); ++size) {
        expect_refusal(message.substr(0, size), "byte");
    }
}

void every_changed_byte_is_a_value_or_an_error(void** /*state*/) {
    const std::string message = sample();
    size_t refused = 0;
    for (size_t at = 0; at < message.size(); ++at) {
        for (int byte = 0; byte < 256; ++byte) {
            std::string changed = message;
            changed[at] = static_cast<char>(byte);
            try {
                const ObjectPtr object = read(changed);
                assert_true(same(object, read(tutti::pack(*object, {}))));
            } catch (const tutti::Error& error) {
                assert_int_equal(error.status().code, TUTTI_ERR_INVALID_ARGUMENT);
                ++refused;
            }
        }
    }
    assert_true(refused > 1000);
}

void deep_messages_cost_no_stack(void** /*state*/) {
    const std::string message = std::string(50'000'000, '\x91') + raw({0xc0});
    expect_refusal(message, "at byte 512, lists and maps are more than 512 deep");
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(malformed_messages_are_refused_with_the_byte),
        TUTTI_TEST(lying_counts_are_refused_at_once),
        TUTTI_TEST(malformed_arrays_are_refused),
        TUTTI_TEST(limits_hold),
        TUTTI_TEST(longer_forms_than_needed_are_read),
        TUTTI_TEST(every_cut_is_an_error),
        TUTTI_TEST(every_changed_byte_is_a_value_or_an_error),
        TUTTI_TEST(deep_messages_cost_no_stack),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
