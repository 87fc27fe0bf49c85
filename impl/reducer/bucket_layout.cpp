#include "bucket_layout.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"

namespace tutti {

std::string label_of(const Parameters& parameters, size_t index) {
    const std::string& name = parameters[index].name;
    return name.empty() ? cat(index) : cat(index, " \"", name, "\"");
}

std::string names_of(const Parameters& parameters, const Indices& indices) {
    constexpr size_t most = 8;
    std::string names;
    for (size_t i = 0; i < std::min(indices.size(), most); ++i) {
        names += cat(i == 0 ? "" : ", ", label_of(parameters, indices[i]));
    }
    return indices.size() > most ? cat(names, " and ", indices.size() - most, " more") : names;
}

namespace {

constexpr size_t alignment = 64;

// The bucket of a dtype and device that is not full.
struct OpenBucket {
    tutti_dtype dtype;
    Device device;
    size_t cap;
    size_t size = 0;
    Indices parameters{};
};

}  // namespace

std::vector<Indices> assign_buckets(const Parameters& parameters, std::span<const size_t> order,
                                    const BucketCaps& caps) {
    std::vector<Indices> full;
    std::vector<OpenBucket> open;
    for (const size_t index : order) {
        const Parameter& one = parameters[index];
        auto bucket = std::ranges::find_if(open, [&](const OpenBucket& candidate) {
            return candidate.dtype == one.dtype && candidate.device == one.device;
        });
        if (bucket == open.end()) {
            bucket = open.insert(bucket, OpenBucket{one.dtype, one.device, caps.first});
        }
        bucket->parameters.push_back(index);
        bucket->size += one.size();
        if (bucket->size < bucket->cap) continue;
        full.push_back(std::exchange(bucket->parameters, {}));
        bucket->size = 0;
        bucket->cap = caps.others;
    }
    for (OpenBucket& bucket : open) {
        if (!bucket.parameters.empty()) full.push_back(std::move(bucket.parameters));
    }
    return full;
}

BucketLayout::BucketLayout(const Parameters& parameters, const std::vector<Indices>& assignment)
    : places_(parameters.size()) {
    for (const Indices& indices : assignment) {
        Bucket bucket;
        bucket.dtype = parameters[indices.front()].dtype;
        bucket.device = parameters[indices.front()].device;
        bucket.place = size_;
        for (const size_t index : indices) {
            bucket.parameters.push_back(static_cast<int64_t>(index));
            bucket.offsets.push_back(bucket.count);
            bucket.counts.push_back(parameters[index].count);
            places_[index] = {buckets_.size(), bucket.count};
            bucket.count += parameters[index].count;
        }
        size_ += (bucket.size() + alignment - 1) / alignment * alignment;
        buckets_.push_back(std::move(bucket));
    }
}

View BucketLayout::bucket(size_t index, std::byte* memory) const {
    const Bucket& bucket = buckets_[index];
    return {memory + bucket.place, bucket.count, bucket.dtype, bucket.device};
}

View BucketLayout::gradient(size_t parameter, int64_t count, std::byte* memory) const {
    const Place& place = places_[parameter];
    return bucket(place.bucket, memory).part(place.offset, count);
}

bool BucketLayout::same_buckets(const BucketLayout& other) const {
    return std::ranges::equal(buckets_, other.buckets_, {}, &Bucket::parameters,
                              &Bucket::parameters);
}

}  // namespace tutti
