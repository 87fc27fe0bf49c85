// Does a group gather exactly the calls between begin and end? N ranks as threads, over the backend
// that the argument names.
#include "group/coalescing.hpp"
#include "groups.hpp"

namespace {

using namespace tutti;
using namespace tutti::test;

void what_was_gathered_runs_while_more_is_being_gathered(void**) {
    only_if(abilities().kinds.has(CallKind::Coalesced));
    const Groups groups = make(2);
    on_ranks(2, [&](int rank) {
        Group& group = *groups[static_cast<size_t>(rank)];
        Numbers first(3, 1);
        Numbers second(3, 1);
        Numbers third(3, 1);
        for (Numbers* numbers : {&first, &second}) {
            Coalescing one(groups[static_cast<size_t>(rank)]);
            one.collect(numbers->sum());
            const Coalesced calls = one.end();
            Coalescing two(groups[static_cast<size_t>(rank)]);
            two.collect(third.sum());
            if (numbers == &first) {
                group.run(calls, 0);
            } else {
                const auto work = group.start(calls, 0);
                require(work->wait(ample()) && work->status()->ok(), "the work");
            }
            require(numbers->data[2] == 2, "what was gathered is not done");
            require(third.data[2] == 1, "what is being gathered is done");
            require(two.end().calls.size() == 1, "the second gathering");
        }
    });
}

void calls_of_several_threads_are_gathered(void**) {
    only_if(abilities().kinds.has(CallKind::Coalesced));
    const Groups groups = make(2);
    std::vector<std::unique_ptr<Numbers>> numbers;
    for (int thread = 0; thread < 8; ++thread) numbers.push_back(std::make_unique<Numbers>(4, 1));
    std::vector<std::unique_ptr<Coalescing>> coalescings;
    for (const auto& group : groups) coalescings.push_back(std::make_unique<Coalescing>(group));
    on_ranks(8, [&](int thread) {
        coalescings[static_cast<size_t>(thread % 2)]->collect(
            numbers[static_cast<size_t>(thread)]->sum());
    });
    on_ranks(2, [&](int rank) {
        Group& group = *groups[static_cast<size_t>(rank)];
        const Coalesced calls = coalescings[static_cast<size_t>(rank)]->end();
        require(calls.calls.size() == 4, "four threads' calls");
        group.run(calls, 0);
    });
    for (const auto& one : numbers) assert_int_equal(one->data[3], 2);
}

void a_group_that_failed_gathers_nothing(void**) {
    only_if(abilities().kinds.has(CallKind::Coalesced));
    const Groups groups = make(2);
    on_ranks(2, [&](int rank) {
        Group& group = *groups[static_cast<size_t>(rank)];
        Numbers mine(static_cast<size_t>(3 + rank), 1);
        require(status_of([&] { group.run(mine.sum(), 0); }).code == TUTTI_ERR_MISMATCH,
                "the mismatch");
        const Status status =
            status_of([&] { const Coalescing one(groups[static_cast<size_t>(rank)]); });
        require(status.code == TUTTI_ERR_MISMATCH && contains(status.message, "failed before"),
                status.message);
    });
}

}  // namespace

int main(int count, char** arguments) {
    choose_backend(count, arguments);
    const CMUnitTest tests[] = {
        TUTTI_TEST(what_was_gathered_runs_while_more_is_being_gathered),
        TUTTI_TEST(calls_of_several_threads_are_gathered),
        TUTTI_TEST(a_group_that_failed_gathers_nothing),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
