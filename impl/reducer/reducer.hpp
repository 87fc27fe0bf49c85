// Gradient buckets: which parameters' gradients share a bucket, which of them have come in this
// backward pass, and a thread that reduces each bucket when it is complete, in the order of their
// indices on all ranks. Marks come from any thread and take no lock, unless they complete a bucket;
// all other calls take one. The group is the reducer's alone. On a device a bucket is reduced after
// what the program's stream had when the last mark came, on a stream of the reducer's own.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "buckets.hpp"
#include "device_end.hpp"
#include "group/group.hpp"
#include "model.hpp"
#include "object/object.hpp"
#include "pass.hpp"
#include "pass_progress.hpp"
#include "reductions.hpp"
#include "server.hpp"
#include "statistics.hpp"
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

    // Before the last holder releases it, which may be in the background: see Gradients.
    void leave() noexcept { buckets_.memory().leave(); }
    // Throws INVALID_ARGUMENT for an index that there is not.
    [[nodiscard]] View gradient(size_t parameter) const;
    [[nodiscard]] GradientBucket bucket(size_t index) const;
    [[nodiscard]] int64_t generation() const { return buckets_.generation(); }
    [[nodiscard]] size_t parameter_count() const { return model_.size(); }
    // Takes an index that there is.
    [[nodiscard]] bool is_used(size_t parameter) const { return pass_.is_used(parameter); }

    // A pass (backward.cpp).
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

    // Goes on in a group of the ranks of `parent`, as if it were new, but for its statistics and
    // the way to reduce buckets. Passes under way end. All ranks call it, or create() without the
    // initial broadcast. After a failure it may be called again.
    void shrink(Group& parent);

    // Between passes.
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
    explicit Reducer(ReducerModel model);

    void check_index(size_t parameter) const {
        if (parameter >= model_.size()) refuse_index(parameter);
    }
    [[noreturn]] void refuse_index(size_t parameter) const;
    void check_sound() const TUTTI_REQUIRES(progress_.mutex);
    void check_can_compress() const;
    void set_reduction(Reductions::Make make);

    // shrink.cpp
    void end_passes();
    void start_over(std::shared_ptr<Group> group);

    // backward.cpp
    // A failure of the device leaves the pass incomplete.
    template <typename Act>
    void or_fail(Act&& act) {
        try {
            act();
        } catch (...) {
            server_.fail(current_status());
            throw;
        }
    }
    void check_open() const;
    void check_not_in_hook(const char* function) const;
    [[noreturn]] void refuse_mark(size_t parameter) const;
    void complete(size_t parameter);
    void complete_bucket(size_t bucket);
    void fill_unmarked(size_t parameter);
    [[nodiscard]] std::vector<device::EventPointer> prepare(bool synchronise)
        TUTTI_REQUIRES(progress_.mutex);
    // Gives the parameters without the marks that they need.
    [[nodiscard]] Indices settle();
    void keep_micro_batch();
    void close();

    ReducerModel model_;
    Buckets buckets_;
    Pass pass_;
    DeviceWaits waits_;
    Reductions reductions_;
    PassProgress progress_;
    Statistics statistics_ TUTTI_GUARDED_BY(progress_.mutex);
    Server server_;
};

}  // namespace tutti
