// Do all ranks learn it when the backends of some can do less than those of others?
#include "groups.hpp"

namespace {

using namespace tutti;
using namespace tutti::test;

constexpr int size = 3;

// The backend of the last rank is an older one.
template <typename Make>
void expect_told(const std::string& fragment, Make&& make) {
    const auto store = make_hash_store();
    on_ranks(size, [&](int rank) {
        GroupOptions wanted = options(store, rank, size);
        const std::string backend = rank == size - 1 ? "null_inline?older=1" : "null_inline";
        const Status status = status_of([&] { make(wanted, backend); });
        require(status.code == TUTTI_ERR_MISMATCH && status.rank == size - 1, status.message);
        require(contains(status.message, fragment), status.message);
    });
}

std::string older() {
    return "lacks " + lacks_of(null_capabilities("null_inline?older=1"));
}

void ranks_learn_it_when_they_make_a_group(void**) {
    expect_told("backend null_inline " + older() + " on rank 2 and ",
                [](GroupOptions& wanted, const std::string& backend) {
                    wanted.backend = backend;
                    Group::create(wanted);
                });
}

void ranks_learn_it_of_backends_for_other_devices(void**) {
    expect_told("backend null_inline " + older() + " on rank 2 and ",
                [](GroupOptions& wanted, const std::string& backend) {
                    wanted.backend = cat("cpu:gloo,cuda:", backend);
                    Group::create(wanted);
                });
}

void ranks_learn_it_when_they_make_a_group_of_a_group(void**) {
    expect_told("rank 2 called new_group with backend null_inline lacking ",
                [](GroupOptions& wanted, const std::string& backend) {
                    wanted.backend = "gloo";
                    const auto whole = Group::create(wanted);
                    SplitOptions part;
                    part.function = "new_group";
                    part.parts = {{0, 1, 2}};
                    part.backend = backend;
                    Status status = status_of([&] { whole->split(part); });
                    whole->run(Barrier{}, 0);  // it goes on
                    whole->destroy();
                    if (!status.ok()) throw Error(std::move(status));
                });
}

}  // namespace

int main(int count, char** arguments) {
    choose_backend(count, arguments);
    const CMUnitTest tests[] = {
        TUTTI_TEST(ranks_learn_it_when_they_make_a_group),
        TUTTI_TEST(ranks_learn_it_of_backends_for_other_devices),
        TUTTI_TEST(ranks_learn_it_when_they_make_a_group_of_a_group),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
