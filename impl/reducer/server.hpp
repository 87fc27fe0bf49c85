// The reducer's thread: it reduces bucket after bucket of a pass, in the order of their indices,
// and does what follows the last one. It holds no lock while it communicates.
#pragma once

#include <memory>
#include <thread>

#include "buckets.hpp"
#include "model.hpp"
#include "pass.hpp"
#include "pass_progress.hpp"
#include "reductions.hpp"
#include "side_calls.hpp"
#include "statistics.hpp"

namespace tutti {

class Server {
public:
    // The parts of a reducer. All outlive the thread.
    struct Parts {
        const ReducerModel& model;
        Buckets& buckets;
        Pass& pass;
        Reductions& reductions;
        const DeviceWaits& waits;
        PassProgress& progress;
        Statistics& statistics;  // with the lock of `progress`
    };
    // `reducer` stands for it where a hook of its program's calls it.
    Server(const Parts& parts, const void* reducer)
        : parts_(parts),
          reducer_(reducer),
          side_calls_(parts.model, parts.buckets.memory(), parts.waits) {}

    void start();
    // After PassProgress::stop().
    void join() noexcept;
    // Ends this pass, and all that come, on all ranks. Any thread, without the lock.
    void fail(Status status) noexcept;

private:
    void serve() noexcept;
    // Returns the end of its calls that are on the device.
    DeviceEnd reduce(size_t index);
    // All ranks learn which parameters of the bucket any of them has used.
    void exchange_used(const BucketLayout::Bucket& bucket);
    // Copies results to where the program has its gradients.
    void copy_to_own(const BucketLayout::Bucket& bucket);
    void exchange_arrivals();
    // The pass's last bucket is reduced. Returns the work that ends with it, or null.
    [[nodiscard]] std::shared_ptr<Work> end_buckets(const DeviceEnd& end)
        TUTTI_REQUIRES(parts_.progress.mutex);

    const Parts parts_;
    const void* const reducer_;
    const SideCalls side_calls_;
    std::thread thread_;
};

}  // namespace tutti
