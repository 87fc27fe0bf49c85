// The parts of a value: where they fit, and how they are numbered, found and compared.
#include "values.hpp"

namespace {

using tutti::Array;
using tutti::Builder;
using tutti::Key;
using tutti::Object;
using tutti::test::make;
using tutti::test::ObjectPtr;
using tutti::test::same;

void nodes_are_numbered_in_the_order_of_building(void** /*state*/) {
    const ObjectPtr object = make([](Builder& builder) {
        builder.map();
        builder.string("a");
        builder.list(2);
        builder.nil();
        builder.boolean(true);
        builder.string("b");
        builder.real(0.5);
        builder.close();
    });
    assert_int_equal(object->size(), 7);
    assert_int_equal(object->depth(), 2);
    assert_int_equal(object->end(0), 7);
    assert_int_equal((*object)[0].size(), 2);
    assert_int_equal(object->end(2), 5);
    assert_int_equal(*object->find(0, Key(std::string_view("a"))), 2);
    assert_int_equal(*object->find(0, Key(std::string_view("b"))), 6);
    assert_false(object->find(0, Key(std::string_view("c"))).has_value());
    assert_false(object->find(0, Key::signed_integer(0)).has_value());
}

void what_does_not_fit_is_refused(void** /*state*/) {
    const auto refuses = [](auto&& build, const char* why) {
        Builder builder;
        TUTTI_EXPECT_ERROR(build(builder), TUTTI_ERR_INVALID_ARGUMENT, why);
    };
    refuses([](Builder& b) { b.nil(), b.nil(); }, "the object is finished");
    refuses([](Builder& b) { b.close(); }, "no list or map is open");
    refuses([](Builder& b) { b.map(), b.nil(); }, "a key of a map is due here");
    refuses([](Builder& b) { b.map(), b.list(); }, "not a list");
    refuses([](Builder& b) { b.map(), b.string("k"), b.close(); }, "has no value");
    refuses([](Builder& b) { b.list(3), b.nil(), b.close(); }, "with 2 more values");
    refuses([](Builder& b) { b.string("a\xff"); }, "not UTF-8 at byte 1");
    refuses([](Builder& b) { b.timestamp(0, 1'000'000'000); }, "nanoseconds is 1000000000");
    refuses([](Builder& b) { b.timestamp(0, -1); }, "nanoseconds is -1");
    refuses([](Builder& b) { b.list(UINT64_MAX - 1); }, "values");
    refuses([](Builder& b) { b.map(UINT64_MAX - 1); }, "pairs");
    refuses([](Builder& b) { b.map(uint64_t{1} << 31); }, "values");
}

void shapes_are_checked(void** /*state*/) {
    const auto refuses = [](std::vector<int64_t> shape, tutti_dtype dtype, const char* why) {
        const Array array{nullptr, shape.data(), dtype, static_cast<int32_t>(shape.size())};
        TUTTI_EXPECT_ERROR(tutti::count_elements(array), TUTTI_ERR_INVALID_ARGUMENT, why);
    };
    refuses({1}, 15, "dtype is 15");
    refuses({2, -1}, TUTTI_INT8, "shape[1] is -1");
    refuses(std::vector<int64_t>(65, 1), TUTTI_INT8, "dimensions is 65");
    refuses({INT64_MAX, 2}, TUTTI_INT8, "more elements than memory can hold");
    refuses({0, INT64_MAX, INT64_MAX}, TUTTI_INT8, "more elements than memory can hold");
    refuses({INT64_MAX / 8 + 1}, TUTTI_INT64, "more elements than memory can hold");
    const int64_t shape[] = {3, 0, 4};
    assert_int_equal(tutti::count_elements({nullptr, shape, TUTTI_INT8, 3}), 0);
    assert_int_equal(tutti::count_elements({nullptr, nullptr, TUTTI_INT8, 0}), 1);
}

void keys_come_once(void** /*state*/) {
    for (const size_t count : {size_t{2}, size_t{8}, size_t{9}, size_t{3000}}) {
        for (const bool text : {false, true}) {
            Builder builder;
            builder.map();
            const auto add = [&](size_t i) {
                text ? builder.string("key " + std::to_string(i)) : builder.unsigned_integer(i);
                builder.nil();
            };
            for (size_t i = 0; i + 1 < count; ++i) add(i);
            add(count / 2 - 1);
            TUTTI_EXPECT_ERROR(builder.close(), TUTTI_ERR_INVALID_ARGUMENT, "is in the map twice");
        }
    }
    // The integer 1 and the string "1" are two keys.
    make([](Builder& builder) {
        builder.map(2);
        builder.string("1");
        builder.nil();
        builder.signed_integer(1);
        builder.nil();
    });
}

void large_lists_and_maps_are_found_by_place_and_key(void** /*state*/) {
    constexpr size_t count = 5000;
    const ObjectPtr object = make([](Builder& builder) {
        builder.list(2);
        builder.list();
        for (size_t i = 0; i < count; ++i) {
            builder.list(i % 3);
            for (size_t j = 0; j < i % 3; ++j) builder.unsigned_integer(i);
        }
        builder.close();
        builder.map(count);
        for (size_t i = 0; i < count; ++i) {
            i % 2 == 0 ? builder.string(std::to_string(i)) : builder.unsigned_integer(i);
            builder.list(1);
            builder.unsigned_integer(i);
        }
    });
    const size_t list = object->at(0, 0), map = object->at(0, 1);
    for (size_t i = 0; i < count; ++i) {
        const size_t node = object->at(list, i);
        assert_int_equal((*object)[node].size(), i % 3);
        if (i % 3 > 0) assert_int_equal((*object)[node + 1].bits(), i);
        const std::string text = std::to_string(i);
        const auto by_text = object->find(map, Key(std::string_view(text)));
        const auto by_number = object->find(map, Key::unsigned_integer(i));
        assert_int_equal(by_text.has_value(), i % 2 == 0);
        assert_int_equal(by_number.has_value(), i % 2 == 1);
        assert_int_equal((*object)[(i % 2 == 0 ? *by_text : *by_number) + 1].bits(), i);
    }
}

void values_are_equal_by_value(void** /*state*/) {
    const auto one = [](auto&& add) { return make(add); };
    const auto number = [&](auto value) {
        return one([&](Builder& b) {
            if constexpr (std::is_signed_v<decltype(value)>) {
                b.signed_integer(value);
            } else {
                b.unsigned_integer(value);
            }
        });
    };
    const auto real = [&](double value) { return one([&](Builder& b) { b.real(value); }); };
    assert_true(same(number(5), number(5U)));
    assert_false(same(number(-1), number(UINT64_MAX)));
    assert_false(same(number(1), real(1.0)));
    assert_false(same(real(0.0), real(-0.0)));
    assert_true(same(real(NAN), real(NAN)));
    assert_false(same(one([](Builder& b) { b.string("a"); }),
                      one([](Builder& b) { b.bytes("a", 1, Builder::Memory::Copied); })));
    assert_false(same(one([](Builder& b) { b.list(0); }), one([](Builder& b) { b.map(0); })));
    assert_false(same(one([](Builder& b) { b.nil(); }), one([](Builder& b) { b.boolean(false); })));
}

void maps_are_equal_in_any_order(void** /*state*/) {
    for (const int count : {3, 30}) {
        const auto map = [&](int first, int step, int last_value) {
            return make([&](Builder& builder) {
                builder.map(count);
                for (int i = 0; i < count; ++i) {
                    const int key = (first + i * step) % count;
                    builder.signed_integer(key);
                    builder.list(1);
                    builder.signed_integer(key == count - 1 ? last_value : key);
                }
            });
        };
        assert_true(same(map(0, 1, 7), map(count - 1, count - 1, 7)));
        assert_false(same(map(0, 1, 7), map(count - 1, count - 1, 8)));
        assert_false(same(map(0, 1, 7), map(0, 1, 8)));
    }
}

void depth_and_count_are_limited(void** /*state*/) {
    Builder deep({100, 3});
    for (int i = 0; i < 3; ++i) deep.list();
    TUTTI_EXPECT_ERROR(deep.map(), TUTTI_ERR_INVALID_ARGUMENT, "more than 3 deep");
    Builder many({4, 3});
    many.list();
    for (int i = 0; i < 3; ++i) many.nil();
    TUTTI_EXPECT_ERROR(many.nil(), TUTTI_ERR_INVALID_ARGUMENT, "more than 4 values");
    Builder promised({4, 3});
    TUTTI_EXPECT_ERROR(promised.list(4), TUTTI_ERR_INVALID_ARGUMENT, "more than 4 values");
}

void depth_costs_no_stack(void** /*state*/) {
    constexpr size_t depth = 300'000;
    const ObjectPtr object = make([](Builder& builder) {
        for (size_t i = 0; i < depth; ++i) {
            if (i % 2 == 0) {
                builder.list();
            } else {
                builder.map();
                builder.signed_integer(1);
            }
        }
        for (size_t i = 0; i < depth; ++i) {
            if (i == 0 && depth % 2 == 0) builder.nil();
            builder.close();
        }
    });
    assert_int_equal(object->depth(), depth);
    const ObjectPtr copy = make([&](Builder& builder) { builder.copy(*object, 0); });
    assert_true(same(object, copy));
    tutti::ObjectSettings settings;
    settings.depth = depth;
    assert_true(same(object, tutti::test::read(tutti::pack(*object, settings), settings)));
}

void items_say_what_was_built(void** /*state*/) {
    tutti::test::Random random(tutti::test::printed_seed());
    for (int round = 0; round < 200; ++round) {
        const ObjectPtr object = random.value(60);
        const ObjectPtr again = make([&](Builder& builder) {
            for (size_t node = 0; node < object->size(); ++node) {
                builder.item(object->item(node), Builder::Memory::Copied);
            }
        });
        const ObjectPtr copy = make([&](Builder& builder) { builder.copy(*object, 0); });
        assert_true(same(object, again));
        assert_true(same(object, copy));
    }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(nodes_are_numbered_in_the_order_of_building),
        TUTTI_TEST(what_does_not_fit_is_refused),
        TUTTI_TEST(shapes_are_checked),
        TUTTI_TEST(keys_come_once),
        TUTTI_TEST(large_lists_and_maps_are_found_by_place_and_key),
        TUTTI_TEST(values_are_equal_by_value),
        TUTTI_TEST(maps_are_equal_in_any_order),
        TUTTI_TEST(depth_and_count_are_limited),
        TUTTI_TEST(depth_costs_no_stack),
        TUTTI_TEST(items_say_what_was_built),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
