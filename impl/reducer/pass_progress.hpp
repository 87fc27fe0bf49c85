// How far a reducer's pass has come: what the program and the reducer's thread wait for of each
// other. It has the one lock of a reducer, which also guards the statistics and, between passes,
// the buckets and the way to reduce them. Any thread.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "base/mutex.hpp"
#include "device/driver.hpp"
#include "device_end.hpp"
#include "parameter.hpp"
#include "pass.hpp"
#include "work/work.hpp"

namespace tutti {

class PassProgress {
public:
    PassProgress(Pass& pass, bool is_on_device) : pass_(pass), is_on_device_(is_on_device) {}

    mutable Mutex mutex;

    // The program calls these.
    // Throws INVALID_ARGUMENT within a pass, and until its buckets are reduced.
    void check_idle() const TUTTI_REQUIRES(mutex);
    // Opens the prepared pass. `ready`: for each bucket the place in the program's order at which
    // it was complete from the start, or null.
    void begin(std::vector<device::EventPointer> ready) TUTTI_REQUIRES(mutex);
    [[nodiscard]] bool has_begun() const TUTTI_REQUIRES(mutex) { return has_begun_; }
    // The program has ended the pass. True: it is over, as its buckets are reduced.
    [[nodiscard]] bool end_pass() TUTTI_REQUIRES(mutex);
    // Returns when the buckets are reduced. Throws the failure.
    void await_buckets(Lock& lock) TUTTI_REQUIRES(mutex);
    // Finishes this work when the buckets are reduced. False: they are, or the reducer has failed.
    [[nodiscard]] bool give_work(const std::shared_ptr<Work>& work) TUTTI_REQUIRES(mutex);
    // The next bucket to be taken, once it is reduced; nothing after the last. Throws the failure,
    // and PENDING when `timeout_ms` have passed.
    struct Taken {
        size_t index;
        DeviceEnd end;
    };
    std::optional<Taken> take_bucket(Lock& lock, int64_t timeout_ms) TUTTI_REQUIRES(mutex);
    [[nodiscard]] const Status& failure() const TUTTI_REQUIRES(mutex) { return failure_; }
    // The end of the last pass that is reduced.
    [[nodiscard]] const DeviceEnd& end() const TUTTI_REQUIRES(mutex) { return end_; }

    // A mark has completed the bucket. Takes the lock only if the thread waits for this one.
    // The thread looks at the next bucket when it has counted one more as launched; so it or this
    // mark sees that both have happened.
    void bucket_is_complete(size_t bucket) TUTTI_EXCLUDES(mutex);
    // The same on a device: it is there once the program's stream has come to `ready`.
    void bucket_is_complete(size_t bucket, device::EventPointer ready) TUTTI_EXCLUDES(mutex);

    // The thread calls these.
    struct Job {
        size_t index;
        bool is_last;
        device::EventPointer ready;
    };
    // Waits for the next complete bucket. Nothing: stop() was called.
    std::optional<Job> await_job(Lock& lock) TUTTI_REQUIRES(mutex);
    void job_is_done(const Job& job, DeviceEnd end) TUTTI_REQUIRES(mutex);
    // All buckets are reduced, by `end`. Returns whether the pass is over, as the program has ended
    // it.
    [[nodiscard]] bool buckets_are_done(DeviceEnd end) TUTTI_REQUIRES(mutex);
    // The order in which buckets are to be laid out when the next pass begins; empty: as they are.
    void set_order(const std::vector<int64_t>& order) TUTTI_REQUIRES(mutex);
    [[nodiscard]] Indices take_order() TUTTI_REQUIRES(mutex);

    // Nothing goes on after this. Returns the work that must be finished with it, or null.
    [[nodiscard]] std::shared_ptr<Work> fail(const Status& status) TUTTI_EXCLUDES(mutex);
    // Returns when the thread does nothing, after fail().
    void await_rest(Lock& lock) TUTTI_REQUIRES(mutex);
    // Then: as it was before the first pass.
    void start_over() TUTTI_REQUIRES(mutex);
    // Ends the thread. Returns where the device will have done all, if nothing has failed and no
    // bucket is to be reduced.
    struct Stopped {
        bool is_idle;
        device::EventPointer end;
    };
    Stopped stop() TUTTI_EXCLUDES(mutex);
    // Null: there is none.
    [[nodiscard]] std::shared_ptr<Work> take_work() TUTTI_REQUIRES(mutex);

private:
    [[nodiscard]] bool has_job() const TUTTI_REQUIRES(mutex);

    // On a device: the place of a bucket in the program's order once it is complete, and in the
    // reducer's once it is reduced.
    struct OnDevice {
        device::EventPointer ready;
        DeviceEnd end;
    };

    Pass& pass_;
    const bool is_on_device_;
    Condition changed_;
    std::atomic<size_t> launched_{0};  // buckets of this pass that are reduced or being reduced
    bool is_stopping_ TUTTI_GUARDED_BY(mutex) = false;
    bool is_at_work_ TUTTI_GUARDED_BY(mutex) = false;   // the thread, at a job
    bool has_begun_ TUTTI_GUARDED_BY(mutex) = false;    // some pass
    bool is_in_pass_ TUTTI_GUARDED_BY(mutex) = false;   // between begin and finish
    bool is_reducing_ TUTTI_GUARDED_BY(mutex) = false;  // the buckets of the last pass
    size_t reduced_ TUTTI_GUARDED_BY(mutex) = 0;        // buckets
    size_t taken_ TUTTI_GUARDED_BY(mutex) = 0;          // by take_bucket()
    std::vector<OnDevice> buckets_ TUTTI_GUARDED_BY(mutex);
    DeviceEnd end_ TUTTI_GUARDED_BY(mutex);
    Status failure_ TUTTI_GUARDED_BY(mutex);
    std::shared_ptr<Work> work_ TUTTI_GUARDED_BY(mutex);  // of finish
    Indices new_order_ TUTTI_GUARDED_BY(mutex);
};

}  // namespace tutti
