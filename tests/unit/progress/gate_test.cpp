// Does a gate that is shut wait for its users, and let nobody in after that?
#include "progress/gate.hpp"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "support/unit.hpp"

namespace {

using namespace tutti;

void a_shut_gate_lets_nobody_in(void**) {
    Gate gate;
    assert_true(gate.enter());
    gate.leave();
    assert_false(gate.is_shut());
    gate.wait_until_unused();
    assert_true(gate.is_shut());
    assert_false(GateUse(gate).is_open());
    gate.wait_until_unused();
}

void it_waits_for_those_inside(void**) {
    for (int round = 0; round < 200; ++round) {
        auto gate = std::make_unique<Gate>();
        std::atomic<int> inside{0};
        std::atomic<int> begun{0};
        std::vector<std::thread> users;
        for (int user = 0; user < 3; ++user) {
            users.emplace_back([&inside, &begun, &gate = *gate] {
                ++begun;
                for (;;) {
                    const bool is_open = gate.enter();
                    if (is_open) ++inside;
                    if (is_open) --inside;
                    gate.leave();
                    if (!is_open) return;
                }
            });
        }
        while (begun < 3) std::this_thread::yield();
        gate->wait_until_unused();
        assert_int_equal(inside, 0);
        for (std::thread& user : users) user.join();
    }
}

// The user's last touch of the gate is not after the end of the wait.
void its_owner_may_end_after_the_wait(void**) {
    for (int round = 0; round < 1000; ++round) {
        auto gate = std::make_unique<Gate>();
        assert_true(gate->enter());
        std::thread user([&gate = *gate] { gate.leave(); });
        gate->wait_until_unused();
        gate.reset();
        user.join();
    }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(a_shut_gate_lets_nobody_in),
        TUTTI_TEST(it_waits_for_those_inside),
        TUTTI_TEST(its_owner_may_end_after_the_wait),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
