// Is what is combined and finished in pieces the same as what is combined, and then finished?
#include "algorithm/reduction.hpp"

#include <cstring>
#include <vector>

#include "support/unit.hpp"

namespace {

using namespace tutti;
using algorithm::Reduction;

constexpr size_t ranks = 3;
using Memory = std::vector<std::byte>;

Memory numbers(tutti_dtype dtype, size_t count, size_t rank) {
    Memory made(count * element_size(dtype));
    const size_t parts = dtype == TUTTI_COMPLEX64 ? 2 : 1;
    for (size_t i = 0; i < count * parts; ++i) {
        const auto number = static_cast<float>((i * 7 + rank * 11) % 1000) / 8;
        if (dtype == TUTTI_FLOAT64) {
            const double wide = number;
            std::memcpy(made.data() + i * sizeof wide, &wide, sizeof wide);
        } else if (dtype == TUTTI_BFLOAT16) {
            std::memcpy(made.data() + i * 2, reinterpret_cast<const std::byte*>(&number) + 2, 2);
        } else {
            std::memcpy(made.data() + i * sizeof number, &number, sizeof number);
        }
    }
    return made;
}

void pieces_are_combined_and_finished_as_a_whole(void**) {
    for (const tutti_dtype dtype :
         {TUTTI_FLOAT32, TUTTI_FLOAT64, TUTTI_BFLOAT16, TUTTI_COMPLEX64}) {
        for (const ReduceOp& op : {ReduceOp(TUTTI_AVG), ReduceOp(TUTTI_SUM)}) {
            for (const size_t bytes : {0, 8, 65536, 65544, 300'000, 1'000'000}) {
                const Reduction reduction{dtype, op};
                std::vector<Memory> inputs;
                std::vector<const void*> addresses;
                for (size_t rank = 0; rank < ranks; ++rank) {
                    inputs.push_back(numbers(dtype, bytes / element_size(dtype), rank));
                }
                for (const Memory& one : inputs) addresses.push_back(one.data());
                Memory wanted(inputs.front().size());
                reduction.combine_all(wanted, addresses, Stores::Ordinary);
                reduction.finish(wanted, ranks);
                Memory got(wanted.size());
                reduction.combine_and_finish(got, addresses, Stores::Streaming);
                assert_true(got == wanted);
                reduction.combine_and_finish(inputs[1], addresses, Stores::Ordinary);  // in place
                assert_true(inputs[1] == wanted);
            }
        }
    }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {TUTTI_TEST(pieces_are_combined_and_finished_as_a_whole)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
