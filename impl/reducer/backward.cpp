// A backward pass as the program sees it: its beginning, marks from any thread, its end.
#include <utility>

#include "base/error.hpp"
#include "base/function_call.hpp"
#include "reducer.hpp"

namespace tutti {

namespace {

bool is_for(const Parameter& parameter, const View& gradient) {
    return gradient.device == parameter.device && gradient.count == parameter.count &&
           gradient.dtype == parameter.dtype;
}

[[noreturn]] void refuse_own(const Parameters& parameters, size_t parameter, const View& own) {
    const Parameter& one = parameters[parameter];
    if (own.device != one.device) {
        throw Error(TUTTI_ERR_UNSUPPORTED,
                    cat("gradient is on ", describe(own.device), ", and parameter ",
                        label_of(parameters, parameter), " on ", describe(one.device)));
    }
    refuse("gradient is ", own.count, " ", dtype_name(own.dtype), ", and parameter ",
           label_of(parameters, parameter), " is ", one.count, " ", dtype_name(one.dtype));
}

Status status_of_missing(const ReducerModel& model, const Indices& missing) {
    const int rank = model.group->rank();
    const char* const advice =
        model.options.static_graph
            ? "they did in the first pass, and options.static_graph is 1"
            : "set options.find_unused_parameters if a pass may use a part of them";
    return {TUTTI_ERR_MISMATCH, rank, 0,
            cat("parameters which did not receive grad for rank ", rank, ": ",
                names_of(model.parameters, missing), "; ", advice)};
}

}  // namespace

void Reducer::begin_forward() {
    const Lock lock(progress_.mutex);
    statistics_.timing().begin_forward();
}

void Reducer::begin(bool synchronise) {
    const Lock lock(progress_.mutex);
    check_sound();
    progress_.check_idle();
    const MicroBatches* const kept = reductions_.micro_batches();
    if (!synchronise && kept != nullptr && kept->is_full()) {
        refuse("options.keep_micro_batches is ", model_.options.keep_micro_batches,
               ", and so many passes were not synchronised; this one must be");
    }
    buckets_.memory().hold(progress_.end().event);  // gradients may move now, or be written
    if (const Indices order = progress_.take_order(); !order.empty()) buckets_.rebuild(order);
    auto ready = prepare(synchronise);
    statistics_.timing().begin_backward();
    progress_.begin(std::move(ready));
}

// Returns, for each bucket that waits for no mark, its place in the program's order on a device.
std::vector<device::EventPointer> Reducer::prepare(bool synchronise) {
    pass_.prepare(synchronise, statistics_.is_before_first_pass(), buckets_.layout());
    std::vector<device::EventPointer> ready(buckets_.count());
    if (!pass_.is_counting()) return ready;
    for (size_t i = 0; i < model_.size(); ++i) {
        if (pass_.expected(i) != 0) continue;
        fill_unmarked(i);
        static_cast<void>(pass_.count_down(buckets_.index_of(i)));
    }
    for (size_t i = 0; i < ready.size(); ++i) {
        if (pass_.is_complete(i)) ready[i] = buckets_.memory().here();
    }
    return ready;
}

void Reducer::check_open() const {
    if (pass_.is_open()) return;
    const Lock lock(progress_.mutex);
    check_sound();
    refuse("no pass has begun; tutti_reducer_begin begins one");
}

void Reducer::refuse_mark(size_t parameter) const {
    const std::string label = label_of(model_.parameters, parameter);
    if (!model_.options.static_graph) {
        refuse("parameter ", label, " was marked before in this pass");
    }
    const uint32_t expected = pass_.expected(parameter);
    refuse("parameter ", label, " was marked ", expected + 1, " times in this pass, and ", expected,
           " in the first one; options.static_graph is 1");
}

void Reducer::mark_ready(size_t parameter, const View* own) {
    check_index(parameter);
    check_open();
    if (own != nullptr && !is_for(model_.parameters[parameter], *own)) {
        refuse_own(model_.parameters, parameter, *own);
    }
    const uint32_t mark = pass_.mark(parameter, own == nullptr ? View{} : *own);
    if (mark == 0) refuse_mark(parameter);
    if (own != nullptr && (pass_.synchronises() || reductions_.micro_batches() != nullptr)) {
        or_fail([&] { buckets_.memory().copy(buckets_.place_of(parameter), *own); });
    }
    if (pass_.has_come(parameter, mark)) complete(parameter);
}

void Reducer::complete(size_t parameter) {
    const size_t bucket = buckets_.index_of(parameter);
    if (pass_.count_down(bucket)) complete_bucket(bucket);
}

// On a device the gradients are there once the program's stream has come to here.
void Reducer::complete_bucket(size_t bucket) {
    if (!buckets_.memory().is_on_device()) return progress_.bucket_is_complete(bucket);
    device::EventPointer ready;
    or_fail([&] { ready = buckets_.memory().here(); });
    progress_.bucket_is_complete(bucket, std::move(ready));
}

// This rank's contribution for a parameter without a mark in this pass is what it has from passes
// before, or nothing.
void Reducer::fill_unmarked(size_t parameter) {
    const View place = buckets_.place_of(parameter);
    const View& own = pass_.own(parameter);
    if (reductions_.micro_batches() != nullptr || !pass_.has_gradient(parameter)) {
        buckets_.memory().zero(place);
    } else if (own.data != nullptr) {
        buckets_.memory().copy(place, own);
    }
}

void Reducer::mark_unused(std::span<const size_t> parameters) {
    if (!model_.options.finds_unused()) {
        refuse(model_.options.static_graph ? "options.static_graph is 1, so the first pass tells"
                                           : "options.find_unused_parameters is 0");
    }
    for (const size_t one : parameters) check_index(one);
    check_open();
    for (const size_t one : parameters) {
        if (!pass_.mark_once(one)) refuse_mark(one);
        if (!pass_.synchronises()) continue;
        fill_unmarked(one);
        complete(one);
    }
}

Indices Reducer::settle() {
    Indices missing;
    const bool learns = pass_.begin_to_learn();
    for (size_t i = 0; i < model_.size(); ++i) {
        const Pass::Found found = pass_.settle(i, learns);
        if (found == Pass::Found::Missing) missing.push_back(i);
        if (found == Pass::Found::Missing || found == Pass::Found::Enough) continue;
        if (found == Pass::Found::Unused) fill_unmarked(i);
        complete(i);
    }
    return missing;
}

void Reducer::keep_micro_batch() {
    for (size_t i = 0; i < model_.size(); ++i) {
        if (pass_.marks(i) == 0) fill_unmarked(i);
    }
    reductions_.micro_batches()->keep();
}

void Reducer::close() {
    if (!pass_.close()) check_open();
    {
        const Lock lock(progress_.mutex);
        statistics_.timing().end_backward();
    }
    Indices missing;
    if (pass_.synchronises()) {
        or_fail([&] { missing = settle(); });
    } else if (reductions_.micro_batches() != nullptr) {
        keep_micro_batch();
    }
    if (!missing.empty()) {
        Status status = status_of_missing(model_, missing);
        model_.group->abandon(status);  // all ranks hear it in these words
        status.message = cat("reducer_finish on ", model_.group->label(), ": ", status.message);
        server_.fail(status);
    }
    const Lock lock(progress_.mutex);
    const bool is_over = progress_.end_pass();
    if (!missing.empty()) throw Error(progress_.failure());
    if (is_over) statistics_.pass_is_over();
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
    Lock lock(progress_.mutex);
    progress_.await_buckets(lock);
    buckets_.memory().hold(progress_.end().event);
}

std::shared_ptr<Work> Reducer::start_finish() {
    check_not_in_hook("reducer_finish");
    close();
    const auto work = std::make_shared<Work>("reducer_finish");
    work->belongs_to(this);
    Lock lock(progress_.mutex);
    if (progress_.give_work(work)) return work;
    const Status status = progress_.failure();
    const DeviceEnd end = pass_.synchronises() ? progress_.end() : DeviceEnd();
    lock.unlock();
    if (!status.ok()) {
        work->finish(status);
    } else {
        waits_.finish_at(end, work);
    }
    return work;
}

std::optional<GradientBucket> Reducer::next_bucket() {
    check_not_in_hook("reducer_next_bucket");
    Lock lock(progress_.mutex);
    if (!progress_.has_begun()) refuse("no pass has begun; tutti_reducer_begin begins one");
    const auto taken = progress_.take_bucket(lock, model_.group->timeout_ms());
    if (!taken) return std::nullopt;
    const GradientBucket bucket = buckets_.bucket(taken->index);
    lock.unlock();
    if (buckets_.memory().has_programs_stream()) {
        waits_.check(taken->end);
        buckets_.memory().hold(taken->end.event);
    } else {
        waits_.await(taken->end);
    }
    return bucket;
}

}  // namespace tutti
