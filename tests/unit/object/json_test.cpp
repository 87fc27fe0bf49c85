// Values as people read them.
#include "object/json.hpp"

#include "values.hpp"

namespace {

using tutti::Builder;
using tutti::JsonStyle;
using tutti::test::make;
using tutti::test::ObjectPtr;

template <typename Build>
void expect_json(Build&& build, const char* wanted, const JsonStyle& style = {}) {
    assert_string_equal(tutti::to_json(*make(build), 0, style).c_str(), wanted);
}

void each_kind_has_its_text(void** /*state*/) {
    expect_json([](Builder& b) { b.nil(); }, "null");
    expect_json([](Builder& b) { b.boolean(true); }, "true");
    expect_json([](Builder& b) { b.signed_integer(INT64_MIN); }, "-9223372036854775808");
    expect_json([](Builder& b) { b.unsigned_integer(UINT64_MAX); }, "18446744073709551615");
    expect_json([](Builder& b) { b.real(0.1); }, "0.1");
    expect_json([](Builder& b) { b.real(3); }, "3.0");
    expect_json([](Builder& b) { b.real(-0.0); }, "-0.0");
    expect_json([](Builder& b) { b.real(1e300); }, "1e+300");
    expect_json([](Builder& b) { b.real(NAN); }, "\"NaN\"");
    expect_json([](Builder& b) { b.real(-INFINITY); }, "\"-Infinity\"");
    expect_json([](Builder& b) { b.bytes("abcd", 4, Builder::Memory::Copied); }, "\"YWJjZA==\"");
    expect_json([](Builder& b) { b.bytes("abcde", 5, Builder::Memory::Copied); }, "\"YWJjZGU=\"");
    expect_json([](Builder& b) { b.bytes("\xff\xfe\xfd", 3, Builder::Memory::Copied); },
                "\"//79\"");
    expect_json([](Builder& b) { b.list(0); }, "[]");
    expect_json([](Builder& b) { b.map(0); }, "{}");
}

void strings_are_escaped(void** /*state*/) {
    expect_json(
        [](Builder& b) { b.string(std::string_view("a\"\\\n\r\t\0\x1f\x7f/\xc3\xa4", 12)); },
        "\"a\\\"\\\\\\n\\r\\t\\u0000\\u001f\\u007f/\xc3\xa4\"");
}

void times_are_dates(void** /*state*/) {
    const auto expect = [](int64_t seconds, int64_t nanoseconds, const char* wanted) {
        expect_json([&](Builder& b) { b.timestamp(seconds, nanoseconds); }, wanted);
    };
    expect(0, 0, "\"1970-01-01T00:00:00Z\"");
    expect(1'000'000'000, 500'000'000, "\"2001-09-09T01:46:40.5Z\"");
    expect(-1, 1, "\"1969-12-31T23:59:59.000000001Z\"");
    expect(951'782'400, 0, "\"2000-02-29T00:00:00Z\"");
    expect(253'402'300'799, 0, "\"9999-12-31T23:59:59Z\"");
    expect(-62'167'219'200, 0, "\"0000-01-01T00:00:00Z\"");
    expect(253'402'300'800, 7, "\"@253402300800+000000007ns\"");
    expect(INT64_MIN, 0, "\"@-9223372036854775808+000000000ns\"");
}

void arrays_are_nested_by_their_shape(void** /*state*/) {
    const int16_t data[] = {1, -2, 3, 4, 5, 6};
    const int64_t shape[] = {2, 3};
    expect_json(
        [&](Builder& b) {
            b.array({data, shape, TUTTI_INT16, 2}, Builder::Memory::Copied);
        },
        "{\"dtype\": \"int16\", \"shape\": [2, 3], \"data\": [[1, -2, 3], [4, 5, 6]]}");
    const float pairs[] = {1, 0.5, NAN, -2};
    const int64_t two[] = {2};
    expect_json(
        [&](Builder& b) {
            b.array({pairs, two, TUTTI_COMPLEX64, 1}, Builder::Memory::Copied);
        },
        "{\"dtype\": \"complex64\", \"shape\": [2], \"data\": [[1.0, 0.5], [\"NaN\", -2.0]]}");
    const uint16_t halves[] = {0x3c00, 0x3555};
    expect_json(
        [&](Builder& b) {
            b.array({halves, two, TUTTI_FLOAT16, 1}, Builder::Memory::Copied);
        },
        "{\"dtype\": \"float16\", \"shape\": [2], \"data\": [1.0, 0.33325195]}");
    const uint8_t yes = 7;
    expect_json(
        [&](Builder& b) {
            b.array({&yes, nullptr, TUTTI_BOOL, 0}, Builder::Memory::Copied);
        },
        "{\"dtype\": \"bool\", \"shape\": [], \"data\": true}");
    // Empty lists of empty lists would go on for ever.
    const int64_t empty[] = {int64_t{1} << 40, 0};
    expect_json(
        [&](Builder& b) {
            b.array({nullptr, empty, TUTTI_BOOL, 2}, Builder::Memory::Copied);
        },
        "{\"dtype\": \"bool\", \"shape\": [1099511627776, 0], \"data\": []}");
    const std::vector<int64_t> flat(64, 1);
    expect_json(
        [&](Builder& b) {
            b.array({&yes, flat.data(), TUTTI_INT8, 9}, Builder::Memory::Copied);
        },
        "{\"dtype\": \"int8\", \"shape\": [1, 1, 1, 1, 1, 1, 1, 1, 1], \"data\": [7]}");
}

void build_nested(Builder& builder) {
    builder.map();
    builder.string("a");
    builder.list(3);
    builder.nil();
    builder.list(0);
    builder.map(1);
    builder.signed_integer(-5);
    builder.boolean(false);
    builder.unsigned_integer(7);
    builder.string("x");
    builder.close();
}

void lists_and_maps_are_nested(void** /*state*/) {
    expect_json(build_nested, "{\"a\": [null, [], {\"-5\": false}], \"7\": \"x\"}");
    expect_json(build_nested,
                "{\n  \"a\": [\n    null,\n    [],\n    {\n      \"-5\": false\n    }\n  ],\n"
                "  \"7\": \"x\"\n}",
                {.indent = 2});
    const ObjectPtr object = make(build_nested);
    assert_string_equal(tutti::to_json(*object, 2, {}).c_str(), "[null, [], {\"-5\": false}]");
    assert_string_equal(tutti::to_json(*object, 1, {}).c_str(), "\"a\"");
}

void a_limit_cuts_what_is_long(void** /*state*/) {
    const auto cut = [](auto&& build, const char* wanted) {
        expect_json(build, wanted, {.limit = 8});
    };
    cut([](Builder& b) { b.string("0123456789"); }, "\"01234567...\"");
    cut([](Builder& b) { b.string("0123456\xc3\xa4"); }, "\"0123456...\"");
    cut([](Builder& b) { b.bytes("0123456789", 10, Builder::Memory::Copied); }, "\"MDEyMzQ1...\"");
    cut(
        [](Builder& b) {
            b.list(10);
            for (int i = 0; i < 10; ++i) b.signed_integer(i);
        },
        "[0, 1, 2, \"...\"]");
    cut(
        [](Builder& b) {
            b.map(10);
            for (int i = 0; i < 10; ++i) {
                b.signed_integer(i);
                b.list(1);
                b.nil();
            }
        },
        "{\"0\": [null], \"...\": \"...\"}");
    const std::vector<int8_t> ones(100, 1);
    const int64_t shape[] = {10, 10};
    expect_json(
        [&](Builder& b) {
            b.array({ones.data(), shape, TUTTI_INT8, 2}, Builder::Memory::Copied);
        },
        "{\"dtype\": \"int8\", \"shape\": [10, 10], \"data\": [[1, 1, 1, 1, \"...\"]]}",
        {.limit = 58});
}

void depth_costs_no_stack(void** /*state*/) {
    constexpr size_t depth = 1'000'000;
    const std::string json = tutti::to_json(*make([](Builder& builder) {
        for (size_t i = 0; i < depth; ++i) builder.list();
        for (size_t i = 0; i < depth; ++i) builder.close();
    }),
                                            0, {});
    assert_true(json == std::string(depth, '[') + std::string(depth, ']'));
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(each_kind_has_its_text),    TUTTI_TEST(strings_are_escaped),
        TUTTI_TEST(times_are_dates),           TUTTI_TEST(arrays_are_nested_by_their_shape),
        TUTTI_TEST(lists_and_maps_are_nested), TUTTI_TEST(a_limit_cuts_what_is_long),
        TUTTI_TEST(depth_costs_no_stack),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
