// The facts that a reducer reports about itself: a map for programs, and torch's lines in the log.
// With the reducer's lock.
#pragma once

#include <cstdint>
#include <memory>

#include "buckets.hpp"
#include "facts.hpp"
#include "model.hpp"
#include "object/object.hpp"
#include "pass.hpp"
#include "reductions.hpp"
#include "timing.hpp"

namespace tutti {

class Statistics {
public:
    Statistics(const ReducerModel& model, const Buckets& buckets, const Pass& pass,
               const Reductions& reductions)
        : model_(model), buckets_(buckets), pass_(pass), reductions_(reductions) {}

    [[nodiscard]] Timing& timing() { return timing_; }
    // Whether no synchronised pass is over, since start_over() was called last.
    [[nodiscard]] bool is_before_first_pass() const { return passes_ == passes_before_; }
    void start_over() { passes_before_ = passes_; }
    void bucket_is_reduced(size_t index);
    // The last bucket is reduced, and the program has ended the pass.
    void pass_is_over();
    [[nodiscard]] std::shared_ptr<const Object> map() const;
    void log_start() const;

private:
    void log_pass() const;

    const ReducerModel& model_;
    const Buckets& buckets_;
    const Pass& pass_;
    const Reductions& reductions_;
    const Facts environment_ = facts_of_environment();
    Timing timing_;
    int64_t passes_ = 0;  // synchronised ones that are over
    int64_t passes_before_ = 0;
    int64_t gradient_bytes_ = 0;
};

}  // namespace tutti
