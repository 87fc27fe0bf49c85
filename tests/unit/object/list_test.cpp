// Several values as what travels between ranks, and what a lying rank may send instead.
#include "object/list.hpp"

#include "values.hpp"

namespace {

using tutti::Builder;
using tutti::ObjectPointer;
using tutti::ObjectSettings;
using tutti::OwnedBytes;
using tutti::test::make;
using tutti::test::same;

std::vector<ObjectPointer> unpack(const std::string& list, size_t count,
                                  const ObjectSettings& settings = {}) {
    OwnedBytes bytes(list.size());
    std::copy_n(reinterpret_cast<const std::byte*>(list.data()), list.size(), bytes.block.data());
    return tutti::unpack_list(std::move(bytes), count, settings);
}

std::vector<ObjectPointer> three() {
    return {make([](Builder& builder) { builder.string("seven b"); }),
            make([](Builder& builder) { builder.nil(); }),
            make([](Builder& builder) { builder.string("at the end"); })};
}

void lists_come_back(void** /*state*/) {
    tutti::test::Random random(tutti::test::printed_seed());
    for (size_t count = 0; count < 40; ++count) {
        std::vector<ObjectPointer> objects;
        for (size_t i = 0; i < count; ++i) objects.push_back(random.value(1 + random.below(50)));
        ObjectSettings settings;
        settings.compress = count % 2 == 0;
        settings.threshold = 100;
        const std::string list = tutti::pack_list(objects, settings);
        assert_true(list.size() <= tutti::max_list(count, settings));
        const auto back = unpack(list, count);
        assert_int_equal(back.size(), count);
        for (size_t i = 0; i < count; ++i) assert_true(same(objects[i], back[i]));
    }
}

void the_nul_of_a_string_harms_no_neighbour(void** /*state*/) {
    // The first message is 8 bytes long: the next one cannot follow at once.
    const auto objects = three();
    const auto back = unpack(tutti::pack_list(objects, {}), 3);
    for (size_t i = 0; i < 3; ++i) assert_true(same(objects[i], back[i]));
    for (const size_t i : {0U, 2U}) {
        const std::string_view text = (*back[i])[0].text();
        assert_int_equal(text.data()[text.size()], 0);
    }
}

void objects_live_on_by_themselves(void** /*state*/) {
    ObjectPointer last;
    {
        auto back = unpack(tutti::pack_list(three(), {}), 3);
        last = std::move(back[2]);
    }
    assert_true((*last)[0].text() == "at the end");
}

void expect_refusal(const std::string& list, const char* why, const ObjectSettings& settings = {}) {
    TUTTI_EXPECT_ERROR(unpack(list, 3, settings), TUTTI_ERR_INVALID_ARGUMENT, why);
}

void lying_lists_are_refused(void** /*state*/) {
    const std::string list = tutti::pack_list(three(), {});
    for (size_t size = 0; size < list.size(); ++size) expect_refusal(list.substr(0, size), "");
    expect_refusal("", "has no beginning");
    expect_refusal(list + "x", "the objects end at byte");
    const auto with = [&](size_t at, char byte) {
        std::string changed = list;
        changed[at] = byte;
        return changed;
    };
    expect_refusal(with(0, 2), "there are 2 objects, and 3 are expected");
    expect_refusal(with(7, 1), "objects, and 3 are expected");
    expect_refusal(with(8, 100), "object 0 should have 100 bytes from byte 32 on");
    expect_refusal(with(15, '\xff'), "object 0 should have");
    expect_refusal(with(8, 7), "object 0, from byte 32 on: the message is no value: at byte 0");
    expect_refusal(with(32, '\xc1'), "object 0, from byte 32 on");
    ObjectSettings small;
    small.message_bytes = 7;
    expect_refusal(list, "the message has 8 bytes, and the limit is 7", small);
}

void the_longest_list_does_not_overflow(void** /*state*/) {
    ObjectSettings settings;
    settings.message_bytes = INT64_MAX;
    assert_int_equal(tutti::max_list(1000, settings), SIZE_MAX / 2);
    settings.message_bytes = 100;
    assert_int_equal(tutti::max_list(2, settings), 2 * 108 + 24);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(lists_come_back),
        TUTTI_TEST(the_nul_of_a_string_harms_no_neighbour),
        TUTTI_TEST(objects_live_on_by_themselves),
        TUTTI_TEST(lying_lists_are_refused),
        TUTTI_TEST(the_longest_list_does_not_overflow),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
