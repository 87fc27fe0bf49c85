// Which parameters share a bucket, and where each gradient is. The assignment is that of torch's
// compute_bucket_assignment_by_size with indices. Any thread; a BucketLayout never changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "parameter.hpp"
#include "work/work.hpp"

namespace tutti {

// Sizes in bytes from which on a bucket is full.
struct BucketCaps {
    size_t first;
    size_t others;
};

// Takes the parameters in that order. Those of one dtype and device go to one bucket until it is
// full. Full buckets come in the order in which they became full, then the others in the order in
// which they were begun. Of each dtype and device the first one has a cap of its own.
std::vector<Indices> assign_buckets(const Parameters& parameters, std::span<const size_t> order,
                                    const BucketCaps& caps);

class BucketLayout {
public:
    struct Bucket {
        std::vector<int64_t> parameters, offsets, counts;  // offsets in elements
        tutti_dtype dtype{};
        Device device{};
        int64_t count = 0;  // elements
        size_t place = 0;   // where it begins in the memory of all; bytes

        [[nodiscard]] size_t size() const {
            return static_cast<size_t>(count) * element_size(dtype);
        }
    };
    struct Place {
        size_t bucket = 0;
        int64_t offset = 0;  // in the bucket; elements
    };

    BucketLayout(const Parameters& parameters, const std::vector<Indices>& assignment);

    [[nodiscard]] const std::vector<Bucket>& buckets() const { return buckets_; }
    [[nodiscard]] const Place& place_of(size_t parameter) const { return places_[parameter]; }
    // The size of all buckets, each aligned to a cache line.
    [[nodiscard]] size_t size() const { return size_; }
    // In `memory`, which has all buckets.
    [[nodiscard]] View bucket(size_t index, std::byte* memory) const;
    [[nodiscard]] View gradient(size_t parameter, int64_t count, std::byte* memory) const;
    [[nodiscard]] bool same_buckets(const BucketLayout& other) const;

private:
    std::vector<Bucket> buckets_;
    std::vector<Place> places_;
    size_t size_ = 0;
};

// A bucket with the gradients that are in it.
struct GradientBucket {
    const BucketLayout::Bucket* layout = nullptr;  // until buckets change
    View gradients{};
    size_t index = 0;
    size_t bucket_count = 0;
    void* stream = nullptr;  // of its device, which has the gradients there; null on the CPU
    std::vector<std::shared_ptr<Work>>* calls = nullptr;  // takes those that are on the stream

    [[nodiscard]] bool is_last() const { return index + 1 == bucket_count; }
};

}  // namespace tutti
