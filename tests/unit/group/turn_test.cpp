// Do calls whose turn comes after one that failed end with its reason, and never reach the backend?
// One rank, over a backend that fails the first call when it is told to.
#include <atomic>
#include <future>
#include <memory>

#include "backend/inline_backend.hpp"
#include "groups.hpp"

namespace {

using namespace tutti;
using namespace tutti::test;

// The state of the one group there is at a time.
std::atomic<int> calls_that_ran{0};
std::promise<void>* failure_wanted = nullptr;

class FailingBackend final : public InlineBackend {
public:
    void run(const FlatCall&, uint64_t, const Deadline&) override {
        if (++calls_that_ran > 1) return;
        failure_wanted->get_future().wait();
        throw Error(TUTTI_ERR_NETWORK, "the first call fails");
    }
    void abort(const Status&) noexcept override {}
    [[nodiscard]] const char* name() const override { return "failing"; }
};

Groups make_failing(std::promise<void>& fail) {
    calls_that_ran = 0;
    failure_wanted = &fail;
    GroupOptions wanted = options(make_hash_store(), 0, 1);
    wanted.backend = "failing";
    return {Group::create(wanted)};
}

const std::string turn_came_after =
    "failed before: rank 0 gave up: barrier #1 the first call fails";
const std::string call_came_after = "failed before: the first call fails";

void expect_refused(const Status& status, const std::string& operation) {
    require(status.code == TUTTI_ERR_NETWORK, status.message);
    require(contains(status.message, operation), status.message);
    require(contains(status.message, " on group \"team\" (rank 0 of 1)"), status.message);
}

void works_behind_one_that_fails_do_not_begin(void**) {
    std::promise<void> fail;
    const Groups groups = make_failing(fail);
    std::vector<std::shared_ptr<Work>> works;
    for (int index = 0; index < 5; ++index) works.push_back(groups[0]->start(Barrier{}, 0));
    fail.set_value();
    for (const auto& work : works) assert_true(work->wait(ample()));
    assert_int_equal(works[0]->status()->code, TUTTI_ERR_NETWORK);
    for (size_t index = 1; index < works.size(); ++index) {
        expect_refused(*works[index]->status(), cat("barrier #", index + 1));
        require(contains(works[index]->status()->message, turn_came_after), "the cause");
    }
    assert_int_equal(calls_that_ran.load(), 1);
}

// The call may come before or after the failure: neither way does it begin.
void a_call_that_waits_for_its_turn_behind_one_that_fails_does_not_begin(void**) {
    std::promise<void> fail;
    const Groups groups = make_failing(fail);
    const auto first = groups[0]->start(Barrier{}, 0);
    std::promise<void> calls;
    auto end = std::async(std::launch::async, [&] {
        calls.set_value();
        return status_of([&] { groups[0]->run(Barrier{}, 0); });
    });
    calls.get_future().wait();
    fail.set_value();
    const Status status = end.get();
    expect_refused(status, "barrier");
    require(contains(status.message, turn_came_after) || contains(status.message, call_came_after),
            status.message);
    assert_int_equal(calls_that_ran.load(), 1);
}

}  // namespace

int main() {
    register_backend(
        "failing",
        [](const BackendPlace&) -> std::unique_ptr<Backend> {
            return std::make_unique<FailingBackend>();
        },
        [](const std::string&) { return Capabilities{}; });
    const CMUnitTest tests[] = {
        TUTTI_TEST(works_behind_one_that_fails_do_not_begin),
        TUTTI_TEST(a_call_that_waits_for_its_turn_behind_one_that_fails_does_not_begin),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
