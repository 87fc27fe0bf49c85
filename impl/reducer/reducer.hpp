// Gradient buckets: which parameters' gradients share a bucket, which of them are there in this
// backward pass, and a thread that reduces each bucket when it is complete, in the order of their
// indices on all ranks. Marks come from any thread and take no lock, unless they complete a bucket;
// all other calls take one. The group is the reducer's alone. On a device a bucket is reduced after
// what the program's stream had when the last mark came, on a stream of the reducer's own.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "base/mutex.hpp"
#include "bucket_layout.hpp"
#include "bucket_reduction.hpp"
#include "gradients.hpp"
#include "group/group.hpp"
#include "micro_batches.hpp"
#include "object/object.hpp"
#include "parameter.hpp"
#include "power_sgd.hpp"
#include "timing.hpp"
#include "work/work.hpp"

namespace tutti {

class Reducer {
public:
    // Returns when all ranks are there. `values` receive those of rank 0, unless options say
    // otherwise. All ranks throw MISMATCH if they differ.
    static std::shared_ptr<Reducer> create(Group& parent, Parameters parameters,
                                           std::span<const View> values, Indices order,
                                           const ReducerOptions& options);
    ~Reducer();
    Reducer(const Reducer&) = delete;
    Reducer& operator=(const Reducer&) = delete;

    // Before the last holder lets it go, which may be in the background: see Gradients.
    void leave() noexcept { gradients_.leave(); }
    [[nodiscard]] const std::shared_ptr<Group>& group() const { return group_; }
    // Throws INVALID_ARGUMENT for an index that there is not.
    [[nodiscard]] View gradient(size_t parameter) const;
    [[nodiscard]] GradientBucket bucket(size_t index) const;
    [[nodiscard]] int64_t generation() const { return generation_; }
    [[nodiscard]] size_t parameter_count() const { return parameters_.size(); }
    // Takes an index that there is.
    [[nodiscard]] bool is_used(size_t parameter) const { return used_[parameter] != 0; }

    void begin_forward();
    void begin(bool synchronise);
    // `own`: where the program has the gradient; null: in its place in the bucket.
    void mark_ready(size_t parameter, const View* own);
    void mark_unused(std::span<const size_t> parameters);
    // Waits for all buckets.
    void finish();
    std::shared_ptr<Work> start_finish();
    // Nothing after the last one. Throws PENDING when the timeout passes.
    std::optional<GradientBucket> next_bucket();

    void sync_buffers(std::span<const View> buffers, int root);
    // An empty hook: the reducer reduces buckets itself.
    void set_hook(Hooked::Hook hook);
    void set_compression(Compression compression);
    // All ranks throw MISMATCH, and stay as they were, if they differ.
    void set_power_sgd(const PowerSgdOptions& options);
    // Instead of that, where this rank has wrong arguments: fails the others' calls.
    void decline_power_sgd(const Status& why) noexcept;
    [[nodiscard]] std::shared_ptr<const Object> logging_data() const;

private:
    static constexpr uint32_t any_number = UINT32_MAX;
    // A parameter in this pass.
    struct Slot {
        std::atomic<uint32_t> marks{0};
        std::atomic<bool> has_gradient{false};  // since the last synchronised pass
        uint32_t expected = 1;                  // marks of a pass
        View own{};                             // the program's gradient, or nothing
    };

    // The end of calls on a device, in the reducer's order; of none on the CPU.
    struct DeviceEnd {
        device::EventPointer event;
        std::vector<std::shared_ptr<Work>> calls;
    };

    Reducer(std::shared_ptr<Group> group, Parameters parameters, const Indices& order,
            const ReducerOptions& options);
    void broadcast(std::span<const View> buffers, int root);
    void broadcast(std::span<const View> buffers, int root, const Device& device);

    // Marks, and the ends of a pass (pass.cpp).
    void check_index(size_t parameter) const;
    void check_open() const;
    void check_own(size_t parameter, const View& own) const;
    [[noreturn]] void refuse_mark(size_t parameter, uint32_t marks) const;
    void complete(size_t parameter);
    void complete_on_device(size_t bucket);
    // A failure of the device leaves the pass incomplete.
    template <typename Act>
    void or_fail(Act&& act) {
        try {
            act();
        } catch (...) {
            fail(current_status());
            throw;
        }
    }
    void fill_unmarked(size_t parameter);
    void open_slots(bool synchronise) TUTTI_REQUIRES(mutex_);
    [[nodiscard]] Indices close_slots();
    [[nodiscard]] Status status_of_missing(const Indices& missing) const;
    void keep_micro_batch();
    void close();

    // The thread's (serving.cpp).
    void serve() noexcept;
    [[nodiscard]] bool has_job() const TUTTI_REQUIRES(mutex_);
    // Returns the end of its calls that are on the device.
    DeviceEnd reduce(size_t index);
    void exchange_used(const BucketLayout::Bucket& bucket);
    void give_own(const BucketLayout::Bucket& bucket);
    void exchange_arrivals();
    // A call about a few numbers on the CPU, over a device if the group has nothing else.
    template <typename Make>
    void run_beside(const View& numbers, Make&& make);
    void end_buckets() TUTTI_REQUIRES(mutex_);
    // Throws why the results will not be there.
    void check_going_on(const DeviceEnd& end) const;
    // Until the device has come so far. Throws as that does.
    void await(const DeviceEnd& end) const;
    void end_work(const std::shared_ptr<Work>& work, const DeviceEnd& end) const noexcept;
    void fail(Status status) noexcept;

    void check_idle() const TUTTI_REQUIRES(mutex_);
    void check_not_in_hook(const char* function) const;
    void check_sound() const TUTTI_REQUIRES(mutex_);
    void rebuild() TUTTI_REQUIRES(mutex_);
    void move_to(std::unique_ptr<const BucketLayout> next) TUTTI_REQUIRES(mutex_);
    void check_can_compress() const;
    // One that needs the CPU.
    [[nodiscard]] std::unique_ptr<BucketReduction> on_cpu(
        std::unique_ptr<BucketReduction> reduction) const;
    [[nodiscard]] std::unique_ptr<BucketReduction> all_reducing() const;
    void set_reduction(std::unique_ptr<BucketReduction> reduction);
    [[nodiscard]] GradientBucket make_bucket(size_t index) const;
    [[nodiscard]] View place_of(size_t parameter) const {
        return layout_->gradient(parameter, parameters_[parameter].count, gradients_.data());
    }
    void pass_is_over() TUTTI_REQUIRES(mutex_);
    void log_start() const;
    void log_pass() const TUTTI_REQUIRES(mutex_);

    const std::shared_ptr<Group> group_;
    const Parameters parameters_;
    const ReducerOptions options_;
    Gradients gradients_;
    // These change between passes alone, under the lock.
    std::unique_ptr<const BucketLayout> layout_;
    std::unique_ptr<BucketReduction> reduction_;
    MicroBatches* micro_batches_ = nullptr;  // reduction_, if gradients are kept apart
    std::vector<int64_t> first_bucket_sizes_;
    std::vector<int64_t> rebuilt_bucket_sizes_;  // empty: not rebuilt

    const std::unique_ptr<Slot[]> slots_;
    const std::unique_ptr<std::atomic<uint8_t>[]> used_;     // by any rank
    const std::unique_ptr<std::atomic<int64_t>[]> pending_;  // by bucket: parameters to come
    std::vector<size_t> arrivals_;                           // parameters, as they were marked
    std::atomic<size_t> arrival_count_{0};
    std::atomic<int64_t> generation_{0};
    std::atomic<size_t> launched_{0};  // buckets of this pass that are reduced or being reduced
    // Describes this pass; written before it opens.
    bool synchronises_ = false;
    bool is_counting_ = false;     // complete buckets are reduced at once
    bool notes_arrivals_ = false;  // in the first synchronised pass
    std::atomic<bool> is_open_{false};
    bool has_learned_ = false;  // of a static graph: how often each parameter is marked

    mutable Mutex mutex_;
    Condition changed_;
    std::atomic<bool> stopping_{false};                  // changes with the lock
    bool has_begun_ TUTTI_GUARDED_BY(mutex_) = false;    // some pass
    bool is_in_pass_ TUTTI_GUARDED_BY(mutex_) = false;   // between begin and finish
    bool is_reducing_ TUTTI_GUARDED_BY(mutex_) = false;  // the buckets of the last pass
    size_t reduced_ TUTTI_GUARDED_BY(mutex_) = 0;        // buckets
    size_t taken_ TUTTI_GUARDED_BY(mutex_) = 0;          // by next_bucket()
    // On a device, by bucket: its place in the program's order once it is complete, and in the
    // reducer's when it is reduced; likewise of the last pass as a whole.
    std::vector<device::EventPointer> ready_ TUTTI_GUARDED_BY(mutex_);
    std::vector<DeviceEnd> ends_ TUTTI_GUARDED_BY(mutex_);
    DeviceEnd end_ TUTTI_GUARDED_BY(mutex_);
    Status failure_ TUTTI_GUARDED_BY(mutex_);
    std::shared_ptr<Work> work_ TUTTI_GUARDED_BY(mutex_);  // of finish
    Indices new_order_ TUTTI_GUARDED_BY(mutex_);           // of the arrivals on rank 0
    Timing timing_ TUTTI_GUARDED_BY(mutex_);
    int64_t passes_ TUTTI_GUARDED_BY(mutex_) = 0;  // synchronised ones that are over
    int64_t gradient_bytes_ TUTTI_GUARDED_BY(mutex_) = 0;
    int64_t communicated_before_ TUTTI_GUARDED_BY(mutex_) = 0;  // by reductions of the past
    std::thread thread_;
};

}  // namespace tutti
