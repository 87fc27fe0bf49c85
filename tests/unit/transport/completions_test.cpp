// When listeners are told, and in which order: what Gloo's channel completes.
#include "transport/gloo/request.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "support/unit.hpp"

namespace {

using namespace tutti;
using gloo_channel::Completions;

// Of many transfers: in which order they were told.
struct Told : TransferListener {
    std::vector<const Transfer*> transfers;
    void transfer_done(Transfer& transfer) noexcept override { transfers.push_back(&transfer); }
};

void listeners_are_told_in_order_when_the_outermost_ends(void**) {
    const auto told = std::make_shared<Told>();
    Transfer first;
    Transfer second;
    Transfer third;
    {
        Completions outer;
        {
            Completions inner;
            inner.add(told, first);
            assert_ptr_equal(&Completions::open(), &outer);
        }
        assert_true(told->transfers.empty());
        outer.then([&](Completions& completions) {
            assert_int_equal(told->transfers.size(), 1);
            completions.add(told, third);
        });
        outer.add(told, second);
    }
    assert_true(told->transfers == std::vector<const Transfer*>({&first, &second, &third}));
}

void who_is_told_hears_at_once_what_it_completes_itself(void**) {
    const auto told = std::make_shared<Told>();
    Transfer before;
    Transfer own;
    Completions outer;
    outer.then([&](Completions&) {
        {
            Completions completions;
            completions.add(told, own);
        }
        assert_true(told->transfers == std::vector<const Transfer*>({&before, &own}));
    });
    outer.add(told, before);
}

constexpr int very_deep = 100;

// Each within the one before.
struct Nested {
    int deepest = 0;
    int depth = 0;
    int left = very_deep;
    std::function<void()> at_the_end = [] {};

    void go_on() {
        Completions completions;
        completions.then([this](Completions&) {
            deepest = std::max(deepest, ++depth);
            if (--left > 0) {
                go_on();
            } else {
                at_the_end();
            }
            --depth;
        });
    }
};

void listeners_within_listeners_have_a_limit(void**) {
    Nested nested;
    nested.go_on();
    assert_int_equal(nested.left, 0);
    assert_in_range(nested.deepest, 2, very_deep / 2);
}

void who_waits_for_those_it_ends_has_them_told_however_deep(void**) {
    const auto told = std::make_shared<Told>();
    Transfer last;
    Nested nested;
    nested.left = 16;  // the limit
    nested.at_the_end = [&] {
        {
            Completions completions;
            completions.tell_however_deep();
            completions.add(told, last);
        }
        assert_int_equal(told->transfers.size(), 1);
    };
    nested.go_on();
    assert_int_equal(nested.deepest, 16);
    assert_int_equal(told->transfers.size(), 1);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(listeners_are_told_in_order_when_the_outermost_ends),
        TUTTI_TEST(who_is_told_hears_at_once_what_it_completes_itself),
        TUTTI_TEST(listeners_within_listeners_have_a_limit),
        TUTTI_TEST(who_waits_for_those_it_ends_has_them_told_however_deep),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
