// Are buckets those of torch's compute_bucket_assignment_by_size? The oracle is that algorithm,
// written down plainly: limits by kind of tensor, full buckets first, then what is left.
#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <tuple>

#include "reducer/bucket_layout.hpp"
#include "support/seed.h"
#include "support/unit.hpp"  // last: cmocka makes a macro of the name fail

using namespace tutti;

namespace {

using Key = std::tuple<tutti_dtype, tutti_device_type, int32_t>;
constexpr tutti_dtype dtypes_of_models[] = {TUTTI_FLOAT32, TUTTI_FLOAT16, TUTTI_FLOAT64,
                                            TUTTI_COMPLEX64};

Key key_of(const Parameter& one) {
    return {one.dtype, one.device.type, one.device.index};
}

std::vector<Indices> oracle(const Parameters& parameters, const Indices& order,
                            const std::vector<size_t>& limits) {
    std::vector<Indices> result;
    std::map<Key, size_t> at_limit;
    std::map<Key, Indices> buckets;
    std::vector<Key> keys;  // as they came
    for (const size_t index : order) {
        const Key key = key_of(parameters[index]);
        if (std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
        buckets[key].push_back(index);
        size_t size = 0;
        for (const size_t one : buckets[key]) size += parameters[one].size();
        if (size < limits[at_limit[key]]) continue;
        result.push_back(buckets[key]);
        buckets[key].clear();
        at_limit[key] = std::min(at_limit[key] + 1, limits.size() - 1);
    }
    // The rest, in the order in which its kinds came; torch leaves their order open.
    for (const Key& key : keys) {
        if (!buckets[key].empty()) result.push_back(buckets[key]);
    }
    return result;
}

Parameters random_model(std::mt19937& random) {
    Parameters parameters(1 + random() % 60);
    const size_t kinds = 1 + random() % 4;
    for (Parameter& one : parameters) {
        const auto choice = random() % 10;
        one.count = choice == 0 ? 0 : choice == 1 ? 1 : int64_t{1} << random() % 24;
        one.count += random() % 3;
        one.dtype = dtypes_of_models[random() % kinds];
        if (random() % 8 == 0) one.device = {TUTTI_CUDA, static_cast<int32_t>(random() % 2)};
    }
    return parameters;
}

void buckets_are_those_of_torch(void**) {
    const uint32_t seed = test_seed();
    print_message("seed %u\n", seed);
    std::mt19937 random(seed);
    for (int model = 0; model < 1000; ++model) {
        const Parameters parameters = random_model(random);
        Indices order(parameters.size());
        std::iota(order.rbegin(), order.rend(), size_t{0});
        if (model % 2 == 1) std::ranges::shuffle(order, random);
        const BucketCaps caps{
            1024 * 1024, model % 3 == 0 ? size_t{1} << random() % 26 : size_t{25} * 1024 * 1024};
        const auto assignment = assign_buckets(parameters, order, caps);
        assert_true(assignment == oracle(parameters, order, {caps.first, caps.others}));
    }
}

void gradients_follow_each_other_and_buckets_are_apart(void**) {
    std::mt19937 random(7);
    for (int model = 0; model < 100; ++model) {
        const Parameters parameters = random_model(random);
        Indices order(parameters.size());
        std::iota(order.begin(), order.end(), size_t{0});
        const BucketLayout layout(parameters, assign_buckets(parameters, order, {4096, 65536}));
        size_t end = 0;
        size_t seen = 0;
        for (size_t index = 0; index < layout.buckets().size(); ++index) {
            const auto& bucket = layout.buckets()[index];
            assert_true(bucket.place >= end && bucket.place % 64 == 0);
            int64_t offset = 0;
            for (size_t i = 0; i < bucket.parameters.size(); ++i, ++seen) {
                const auto parameter = static_cast<size_t>(bucket.parameters[i]);
                assert_true(bucket.offsets[i] == offset);
                assert_true(bucket.counts[i] == parameters[parameter].count);
                assert_true(bucket.dtype == parameters[parameter].dtype);
                assert_true(layout.place_of(parameter).bucket == index);
                assert_true(layout.place_of(parameter).offset == offset);
                offset += bucket.counts[i];
            }
            assert_true(offset == bucket.count);
            end = bucket.place + bucket.size();
        }
        assert_true(seen == parameters.size() && layout.size() >= end);
    }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {TUTTI_TEST(buckets_are_those_of_torch),
                                TUTTI_TEST(gradients_follow_each_other_and_buckets_are_apart)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
