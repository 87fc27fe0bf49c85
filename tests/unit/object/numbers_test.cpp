// Numbers between lists and typed memory, and text that is or is not UTF-8.
#include "base/utf8.hpp"
#include "object/elements.hpp"
#include "object/exact.hpp"
#include "object/half.hpp"
#include "values.hpp"

namespace {

using tutti::Builder;
using tutti::test::make;
using tutti::test::ObjectPtr;

template <typename Element>
void comes_back(const std::vector<Element>& data, tutti_dtype dtype) {
    const ObjectPtr object = make([&](Builder& builder) {
        builder.list();
        tutti::add_elements(builder, data.data(), data.size(), dtype);
        builder.close();
    });
    std::vector<Element> back(data.size());
    tutti::get_elements(*object, 0, 0, data.size(), dtype, back.data());
    assert_memory_equal(back.data(), data.data(), data.size() * sizeof(Element));
    tutti::get_elements(*object, 0, 1, data.size() - 2, dtype, back.data());
    assert_memory_equal(back.data(), data.data() + 1, (data.size() - 2) * sizeof(Element));
}

template <typename Integer>
void limits_come_back(tutti_dtype dtype) {
    using Limits = std::numeric_limits<Integer>;
    comes_back<Integer>(
        {Limits::min(), 0, 1, static_cast<Integer>(Limits::max() / 2), Limits::max()}, dtype);
}

void elements_of_every_dtype_come_back(void** /*state*/) {
    limits_come_back<int8_t>(TUTTI_INT8);
    limits_come_back<uint8_t>(TUTTI_UINT8);
    limits_come_back<int16_t>(TUTTI_INT16);
    limits_come_back<uint16_t>(TUTTI_UINT16);
    limits_come_back<int32_t>(TUTTI_INT32);
    limits_come_back<uint32_t>(TUTTI_UINT32);
    limits_come_back<int64_t>(TUTTI_INT64);
    limits_come_back<uint64_t>(TUTTI_UINT64);
    comes_back<double>({0.1, -0.0, 1e308, 5e-324, INFINITY, NAN}, TUTTI_FLOAT64);
    comes_back<float>({0.1F, -0.0F, 1e38F, 1e-45F, INFINITY, NAN}, TUTTI_FLOAT32);
    comes_back<uint8_t>({0, 1, 1, 0}, TUTTI_BOOL);
}

template <typename Bits>
void every_half_comes_back(tutti_dtype dtype, int exponent_mask, uint16_t nan) {
    std::vector<Bits> all;
    for (uint32_t bits = 0; bits <= 0xffff; ++bits) all.push_back({static_cast<uint16_t>(bits)});
    const ObjectPtr object = make([&](Builder& builder) {
        builder.list();
        tutti::add_elements(builder, all.data(), all.size(), dtype);
        builder.close();
    });
    std::vector<Bits> back(all.size());
    tutti::get_elements(*object, 0, 0, all.size(), dtype, back.data());
    for (size_t i = 0; i < all.size(); ++i) {
        const bool is_nan = (all[i].bits & 0x7fff) > exponent_mask;
        assert_int_equal(back[i].bits, is_nan ? nan : all[i].bits);
    }
}

void every_16_bit_number_comes_back(void** /*state*/) {
    every_half_comes_back<tutti::Float16Bits>(TUTTI_FLOAT16, 0x7c00, 0x7e00);
    every_half_comes_back<tutti::BFloat16Bits>(TUTTI_BFLOAT16, 0x7f80, 0x7fc0);
}

void rounding_goes_to_the_nearest_even(void** /*state*/) {
    const auto half = [](double number) {
        return int{tutti::narrow<tutti::Float16Bits>(number).bits};
    };
    assert_int_equal(half(1.0 + 0x1p-11), 0x3c00);      // a tie, to even
    assert_int_equal(half(1.0 + 3 * 0x1p-11), 0x3c02);  // a tie, to even
    assert_int_equal(half(1.0 + 0x1p-11 + 0x1p-40), 0x3c01);
    assert_int_equal(half(65519.9), 0x7bff);
    assert_int_equal(half(65520.0), 0x7c00);
    assert_int_equal(half(-1e300), 0xfc00);
    assert_int_equal(half(0x1p-25), 0);  // a tie, to even
    assert_int_equal(half(0x1.8p-25), 1);
    assert_int_equal(half(-1e-300), 0x8000);
    assert_int_equal(half(0x1p-14 - 0x1p-26), 0x0400);
    const auto brain = [](double number) {
        return int{tutti::narrow<tutti::BFloat16Bits>(number).bits};
    };
    assert_int_equal(brain(1.0 + 0x1p-8), 0x3f80);
    assert_int_equal(brain(1.0 + 3 * 0x1p-8), 0x3f82);
    assert_int_equal(brain(1.0 + 0x1p-8 + 0x1p-40), 0x3f81);  // not rounded twice
    assert_int_equal(brain(3.4e38), 0x7f80);
    assert_int_equal(brain(-1e300), 0xff80);
    assert_int_equal(brain(0x1p-134), 0);
}

void numbers_that_do_not_fit_are_refused(void** /*state*/) {
    const ObjectPtr object = make([](Builder& builder) {
        builder.list();
        builder.signed_integer(-1);
        builder.signed_integer(300);
        builder.unsigned_integer(UINT64_MAX);
        builder.real(1.0);
        builder.string("x");
        builder.close();
    });
    const auto refuses = [&](uint64_t first, size_t count, tutti_dtype dtype, const char* why) {
        unsigned char out[64] = {0};
        TUTTI_EXPECT_ERROR(tutti::get_elements(*object, 0, first, count, dtype, out),
                           TUTTI_ERR_INVALID_ARGUMENT, why);
        for (const unsigned char byte : out) assert_int_equal(byte, 0);
    };
    refuses(0, 1, TUTTI_UINT8, "the value at index 0 of the list, an integer, is no uint8");
    refuses(0, 2, TUTTI_INT8, "index 1");
    refuses(0, 3, TUTTI_INT64, "index 2");
    refuses(1, 4, TUTTI_UINT64, "index 3 of the list, a float64, is no uint64");
    refuses(4, 1, TUTTI_FLOAT64, "a string");
    refuses(2, 1, TUTTI_FLOAT64, "index 2");  // 2^64 - 1 has too many digits
    refuses(0, 1, TUTTI_BOOL, "index 0");
    refuses(0, 1, TUTTI_COMPLEX64, "dtype is complex64, which a list cannot hold");
    refuses(0, 1, 99, "dtype is 99");
    double numbers[2];
    tutti::get_elements(*object, 0, 0, 2, TUTTI_FLOAT64, numbers);
    assert_true(numbers[0] == -1.0 && numbers[1] == 300.0);
}

void integers_are_floats_if_they_are_exactly(void** /*state*/) {
    const auto exact = [](uint64_t value) {
        return tutti::exact_real(
            (*make([&](Builder& builder) { builder.unsigned_integer(value); }))[0]);
    };
    assert_true(exact(0) == 0.0);
    assert_true(exact(uint64_t{1} << 53) == 0x1p53);
    assert_false(exact((uint64_t{1} << 53) + 1).has_value());
    assert_false(exact(INT64_MAX).has_value());
    assert_true(exact(uint64_t{1} << 63) == 0x1p63);
    assert_false(exact(UINT64_MAX).has_value());
    const auto lowest = make([](Builder& builder) { builder.signed_integer(INT64_MIN); });
    assert_true(tutti::exact_real((*lowest)[0]) == -0x1p63);
}

void utf8_is_what_rfc_3629_says(void** /*state*/) {
    for (const char* good :
         {"", "ascii", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
          "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
        assert_false(tutti::utf8_fault(good).has_value());
    }
    for (const char* bad : {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2x", "\xe0\x80\x80",
                            "\xe0\x9f\xbf", "\xed\xa0\x80", "\xef\xbf", "\xf0\x8f\xbf\xbf",
                            "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\xf0\x90\x80"}) {
        for (const size_t before : {0U, 1U, 63U, 64U, 65U, 200U}) {
            for (const size_t after : {0U, 100U}) {
                const std::string text = std::string(before, 'x') + bad + std::string(after, 'y');
                assert_int_equal(tutti::utf8_fault(text).value_or(9999), before);
            }
        }
    }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(elements_of_every_dtype_come_back),
        TUTTI_TEST(every_16_bit_number_comes_back),
        TUTTI_TEST(rounding_goes_to_the_nearest_even),
        TUTTI_TEST(numbers_that_do_not_fit_are_refused),
        TUTTI_TEST(integers_are_floats_if_they_are_exactly),
        TUTTI_TEST(utf8_is_what_rfc_3629_says),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
