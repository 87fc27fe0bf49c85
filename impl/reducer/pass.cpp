// A backward pass as the program sees it: its beginning, marks from any thread, its end.
#include <utility>

#include "base/error.hpp"
#include "base/function_call.hpp"
#include "reducer.hpp"

namespace tutti {

void Reducer::begin(bool synchronise) {
    const Lock lock(mutex_);
    check_sound();
    check_idle();
    if (!synchronise && micro_batches_ != nullptr && micro_batches_->is_full()) {
        refuse("options.keep_micro_batches is ", options_.keep_micro_batches,
               ", and so many passes were not synchronised; this one must be");
    }
    gradients_.hold(end_.event);  // gradients may move now, or be written
    if (!new_order_.empty()) rebuild();
    open_slots(synchronise);
    timing_.begin_backward();
    has_begun_ = true;
    is_in_pass_ = true;
    is_reducing_ = synchronise;
    launched_ = 0;
    reduced_ = 0;
    taken_ = 0;
    is_open_.store(true, std::memory_order_release);
    changed_.notify_all();  // of a static graph, a bucket may wait for nothing
}

void Reducer::open_slots(bool synchronise) {
    synchronises_ = synchronise;
    is_counting_ = synchronise && (!options_.static_graph || has_learned_);
    notes_arrivals_ = synchronise && options_.rebuilds() && passes_ == 0;
    arrival_count_ = 0;
    const auto& buckets = layout_->buckets();
    for (size_t i = 0; i < buckets.size(); ++i) {
        pending_[i] = static_cast<int64_t>(buckets[i].parameters.size());
    }
    for (size_t i = 0; i < parameters_.size(); ++i) {
        Slot& slot = slots_[i];
        slot.marks.store(0, std::memory_order_relaxed);
        if (!is_counting_ || slot.expected != 0) continue;
        fill_unmarked(i);
        --pending_[layout_->place_of(i).bucket];
    }
    ready_.assign(buckets.size(), nullptr);
    ends_.assign(buckets.size(), {});
    for (size_t i = 0; i < buckets.size(); ++i) {
        if (is_counting_ && pending_[i] == 0) ready_[i] = gradients_.here();
    }
}

void Reducer::check_open() const {
    if (is_open_.load(std::memory_order_acquire)) return;
    const Lock lock(mutex_);
    check_sound();
    refuse("no pass has begun; tutti_reducer_begin begins one");
}

void Reducer::check_own(size_t parameter, const View& own) const {
    const Parameter& one = parameters_[parameter];
    if (own.device != one.device) {
        throw Error(TUTTI_ERR_UNSUPPORTED,
                    cat("gradient is on ", describe(own.device), ", and parameter ",
                        label_of(parameters_, parameter), " on ", describe(one.device)));
    }
    if (own.count == one.count && own.dtype == one.dtype) return;
    refuse("gradient is ", own.count, " ", dtype_name(own.dtype), ", and parameter ",
           label_of(parameters_, parameter), " is ", one.count, " ", dtype_name(one.dtype));
}

void Reducer::refuse_mark(size_t parameter, uint32_t marks) const {
    const std::string label = label_of(parameters_, parameter);
    if (!options_.static_graph) refuse("parameter ", label, " was marked before in this pass");
    refuse("parameter ", label, " was marked ", marks, " times in this pass, and ",
           slots_[parameter].expected, " in the first one; options.static_graph is 1");
}

void Reducer::mark_ready(size_t parameter, const View* own) {
    check_index(parameter);
    check_open();
    if (own != nullptr) check_own(parameter, *own);
    Slot& slot = slots_[parameter];
    const uint32_t marks = slot.marks.fetch_add(1, std::memory_order_relaxed) + 1;
    if (marks > slot.expected) {
        slot.marks.fetch_sub(1, std::memory_order_relaxed);
        refuse_mark(parameter, marks);
    }
    slot.own = own == nullptr ? View{} : *own;
    if (own != nullptr && (synchronises_ || micro_batches_ != nullptr)) {
        or_fail([&] { gradients_.copy(place_of(parameter), *own); });
    }
    slot.has_gradient.store(true, std::memory_order_relaxed);
    if (notes_arrivals_ && marks == 1) {
        arrivals_[arrival_count_.fetch_add(1, std::memory_order_relaxed)] = parameter;
    }
    if (is_counting_ && marks == slot.expected) complete(parameter);
}

// The thread looks at the next bucket when it has counted one more as launched; so it or this mark
// sees that both have happened.
void Reducer::complete(size_t parameter) {
    const size_t bucket = layout_->place_of(parameter).bucket;
    if (pending_[bucket].fetch_sub(1) != 1) return;
    if (gradients_.is_on_device()) return complete_on_device(bucket);
    if (bucket != launched_) return;
    const Lock lock(mutex_);
    changed_.notify_all();
}

// The gradients are there once the program's stream has come to here.
void Reducer::complete_on_device(size_t bucket) {
    device::EventPointer ready;
    or_fail([&] { ready = gradients_.here(); });
    const Lock lock(mutex_);
    ready_[bucket] = std::move(ready);
    changed_.notify_all();
}

// This rank's contribution for a parameter without a mark in this pass: what it has from passes
// before, or nothing.
void Reducer::fill_unmarked(size_t parameter) {
    const Slot& slot = slots_[parameter];
    const View place = place_of(parameter);
    if (micro_batches_ != nullptr || !slot.has_gradient) {
        gradients_.zero(place);
    } else if (slot.own.data != nullptr) {
        gradients_.copy(place, slot.own);
    }
}

void Reducer::mark_unused(std::span<const size_t> parameters) {
    if (!options_.finds_unused()) {
        refuse(options_.static_graph ? "options.static_graph is 1, so the first pass tells"
                                     : "options.find_unused_parameters is 0");
    }
    for (const size_t one : parameters) check_index(one);
    check_open();
    for (const size_t one : parameters) {
        uint32_t marks = 0;
        if (!slots_[one].marks.compare_exchange_strong(marks, 1)) refuse_mark(one, marks);
        if (!synchronises_) continue;
        fill_unmarked(one);
        complete(one);
    }
}

// Gives the parameters without the marks that they need.
Indices Reducer::close_slots() {
    Indices missing;
    const bool learns = options_.static_graph && !has_learned_;
    has_learned_ = true;
    for (size_t i = 0; i < parameters_.size(); ++i) {
        Slot& slot = slots_[i];
        uint32_t marks = slot.marks;
        if (learns) slot.expected = marks;
        const bool is_unused = learns ? marks == 0 : marks < slot.expected;
        if (is_unused && !learns && !options_.finds_unused()) missing.push_back(i);
        if (!learns && (!is_unused || !options_.finds_unused())) continue;
        if (is_unused && !learns && !slot.marks.compare_exchange_strong(marks, 1)) continue;
        if (is_unused) fill_unmarked(i);
        complete(i);
    }
    return missing;
}

Status Reducer::status_of_missing(const Indices& missing) const {
    const std::string names = names_of(parameters_, missing);
    const char* const advice =
        options_.static_graph
            ? "they did in the first pass, and options.static_graph is 1"
            : "set options.find_unused_parameters if a pass may use a part of them";
    return {TUTTI_ERR_MISMATCH, group_->rank(), 0,
            cat("parameters which did not receive grad for rank ", group_->rank(), ": ", names,
                "; ", advice)};
}

void Reducer::keep_micro_batch() {
    for (size_t i = 0; i < parameters_.size(); ++i) {
        if (slots_[i].marks == 0) fill_unmarked(i);
    }
    micro_batches_->keep();
}

void Reducer::close() {
    if (!is_open_.exchange(false)) check_open();
    {
        const Lock lock(mutex_);
        timing_.end_backward();
    }
    Indices missing;
    if (synchronises_) {
        or_fail([&] { missing = close_slots(); });
    } else if (micro_batches_ != nullptr) {
        keep_micro_batch();
    }
    if (!missing.empty()) {
        Status status = status_of_missing(missing);
        group_->abandon(status);  // all ranks hear it in these words
        status.message = cat("reducer_finish on ", group_->label(), ": ", status.message);
        fail(status);
    }
    const Lock lock(mutex_);
    is_in_pass_ = false;
    if (!missing.empty()) throw Error(failure_);
    if (synchronises_ && !is_reducing_) pass_is_over();
}

void Reducer::check_not_in_hook(const char* function) const {
    if (const char* const what = FunctionCall::of(this)) {
        refuse(function, " is called in the ", what,
               " of this reducer, and each would wait for "
               "the other");
    }
}

void Reducer::finish() {
    check_not_in_hook("reducer_finish");
    close();
    Lock lock(mutex_);
    while (is_reducing_ && failure_.ok()) changed_.wait(lock);
    if (!failure_.ok()) throw Error(failure_);
    gradients_.hold(end_.event);
}

std::shared_ptr<Work> Reducer::start_finish() {
    check_not_in_hook("reducer_finish");
    close();
    const auto work = std::make_shared<Work>("reducer_finish");
    work->belongs_to(this);
    Lock lock(mutex_);
    if (is_reducing_ && failure_.ok()) {
        work_ = work;
        return work;
    }
    const Status status = failure_;
    const DeviceEnd end = synchronises_ ? end_ : DeviceEnd();
    lock.unlock();
    if (!status.ok()) {
        work->finish(status);
    } else {
        end_work(work, end);
    }
    return work;
}

std::optional<GradientBucket> Reducer::next_bucket() {
    check_not_in_hook("reducer_next_bucket");
    const Deadline until = Deadline::after_ms(group_->timeout_ms());
    Lock lock(mutex_);
    if (!has_begun_) refuse("no pass has begun; tutti_reducer_begin begins one");
    if (!synchronises_ || taken_ == layout_->buckets().size()) return std::nullopt;
    while (failure_.ok() && reduced_ == taken_) {
        if (changed_.wait(lock, until)) continue;
        throw Error(TUTTI_ERR_PENDING, cat("bucket ", taken_, " is not reduced after ",
                                           group_->timeout_ms(), " ms; the pass continues"));
    }
    if (!failure_.ok()) throw Error(failure_);
    const DeviceEnd end = ends_[taken_];
    const GradientBucket bucket = make_bucket(taken_++);
    lock.unlock();
    if (gradients_.has_programs_stream()) {
        check_going_on(end);
        gradients_.hold(end.event);
    } else {
        await(end);
    }
    return bucket;
}

}  // namespace tutti
