// A backward pass as plain data: which gradients have come, and how many each bucket waits for.
// Takes no lock and calls nobody. One thread opens and closes a pass; marks come from any thread in
// between. A mark costs a few atomic operations and no allocation.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "bucket_layout.hpp"
#include "parameter.hpp"

namespace tutti {

class Pass {
public:
    Pass(size_t parameters, const ReducerOptions& options);

    // As it is made.
    void start_over();
    // Before a pass opens: forgets all marks. `is_first`: no synchronised pass has ended yet.
    void prepare(bool synchronise, bool is_first, const BucketLayout& layout);
    void open() { is_open_.store(true, std::memory_order_release); }
    // False: it was not open.
    bool close() { return is_open_.exchange(false); }
    [[nodiscard]] bool is_open() const { return is_open_.load(std::memory_order_acquire); }

    // These describe the pass. They are constant while it is open.
    [[nodiscard]] bool synchronises() const { return synchronises_; }
    // Whether complete buckets are reduced at once.
    [[nodiscard]] bool is_counting() const { return is_counting_; }
    [[nodiscard]] bool notes_arrivals() const { return notes_arrivals_; }

    // Counts a mark and returns the parameter's number of marks with it; 0: it has all of them.
    // `own`: where the program has the gradient; of no data: in its place in the bucket.
    [[nodiscard]] uint32_t mark(size_t parameter, const View& own) {
        Slot& slot = slots_[parameter];
        const uint32_t marks = slot.marks.fetch_add(1, std::memory_order_relaxed) + 1;
        if (marks <= slot.expected) {
            slot.own = own;
            return marks;
        }
        slot.marks.fetch_sub(1, std::memory_order_relaxed);
        return 0;
    }
    // The only mark of a parameter in this pass. False: it has one.
    [[nodiscard]] bool mark_once(size_t parameter) {
        uint32_t none = 0;
        return slots_[parameter].marks.compare_exchange_strong(none, 1);
    }
    // The gradient is there, with this mark. True: no further mark is to come.
    [[nodiscard]] bool has_come(size_t parameter, uint32_t mark) {
        Slot& slot = slots_[parameter];
        slot.has_gradient.store(true, std::memory_order_relaxed);
        if (notes_arrivals_ && mark == 1) {
            arrivals_[arrival_count_.fetch_add(1, std::memory_order_relaxed)] = parameter;
        }
        return is_counting_ && mark == slot.expected;
    }
    // One parameter less is to come. True: that completes the bucket.
    [[nodiscard]] bool count_down(size_t bucket) { return pending_[bucket].fetch_sub(1) == 1; }
    [[nodiscard]] bool is_complete(size_t bucket) const { return pending_[bucket] == 0; }

    [[nodiscard]] uint32_t marks(size_t parameter) const { return slots_[parameter].marks; }
    // Marks that the parameter gets in each pass.
    [[nodiscard]] uint32_t expected(size_t parameter) const { return slots_[parameter].expected; }
    // Whether it had a gradient since the last synchronised pass.
    [[nodiscard]] bool has_gradient(size_t parameter) const {
        return slots_[parameter].has_gradient;
    }
    [[nodiscard]] const View& own(size_t parameter) const { return slots_[parameter].own; }

    // Whether the end of this pass learns how often each parameter is marked; once.
    [[nodiscard]] bool begin_to_learn();
    // The end of a pass finds one of these for a parameter: it has the marks that it needs; some
    // are missing; it adds nothing, and counts as marked now; its number of marks is learned.
    enum class Found : uint8_t { Enough, Missing, Unused, Learned };
    [[nodiscard]] Found settle(size_t parameter, bool learns);
    // All parameters in the order of their first marks; those without a mark come last.
    [[nodiscard]] std::vector<int64_t> arrival_order() const;
    // After a synchronised pass.
    void forget_gradients();

    // Whether any rank has used each parameter in the last synchronised pass. Only the reducer's
    // thread writes it.
    [[nodiscard]] std::atomic<uint8_t>* used() { return used_.get(); }
    [[nodiscard]] bool is_used(size_t parameter) const { return used_[parameter] != 0; }

private:
    static constexpr uint32_t any_number = UINT32_MAX;
    struct Slot {
        std::atomic<uint32_t> marks{0};
        std::atomic<bool> has_gradient{false};
        uint32_t expected = 1;
        View own{};
    };

    const size_t count_;  // parameters
    const bool is_static_, finds_unused_, rebuilds_;
    const std::unique_ptr<Slot[]> slots_;
    const std::unique_ptr<std::atomic<uint8_t>[]> used_;
    const std::unique_ptr<std::atomic<int64_t>[]> pending_;  // parameters to come, by bucket
    std::vector<size_t> arrivals_;                           // in the order of their marks
    std::atomic<size_t> arrival_count_{0};
    bool synchronises_ = false;
    bool is_counting_ = false;
    bool notes_arrivals_ = false;
    bool has_learned_ = false;
    std::atomic<bool> is_open_{false};
};

}  // namespace tutti
