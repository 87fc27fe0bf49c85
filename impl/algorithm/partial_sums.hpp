// A rank's part so far of a reduction in rounds: its contribution, then the combination of several
// ranks' contributions. Sums that accumulate in float32, of more than two ranks, are float32 from
// the first round on; others stay where the contribution was. On the thread of the call.
#pragma once

#include "exchange.hpp"
#include "reduction.hpp"

namespace tutti::algorithm {

class PartialSums {
public:
    // Elements, by index.
    struct Range {
        size_t begin;
        size_t end;
    };

    PartialSums(Exchange& exchange, Bytes contribution, const Reduction& reduction)
        : exchange_(exchange),
          reduction_(reduction),
          widens_(reduction.must_combine_at_once(exchange.size()) &&
                  reduction.accumulates_in_float32()),
          data_(contribution) {
        const size_t bytes = data_.size();
        if (widens_) sums_ = exchange.room(partial_.combined_size(bytes));
        theirs_ = exchange.room(widens_ ? sums_.size() : bytes);
    }

    [[nodiscard]] Range all() const { return {0, data_.size() / reduction_.element()}; }
    // As they travel now.
    [[nodiscard]] Bytes of(Range range) const {
        const size_t element = is_wide_ ? sizeof(float) : reduction_.element();
        const Bytes now = is_wide_ ? sums_ : data_;
        return now.subspan(range.begin * element, (range.end - range.begin) * element);
    }
    // Room for as much of another rank, which has done as many rounds; add() takes it from there.
    [[nodiscard]] Bytes theirs(Range range) const { return theirs_.first(of(range).size()); }

    // A round: nothing beside the range is of use after it. `is_lower`: what is here is of lower
    // ranks than theirs.
    void add(Range range, bool is_lower = true) {
        const Bytes mine = of(range);
        const Bytes theirs = theirs_.first(mine.size());
        if (!widens_) {
            reduction_.combine(mine, is_lower ? mine : theirs, is_lower ? theirs : mine);
        } else if (is_wide_) {
            Reduction{TUTTI_FLOAT32, TUTTI_SUM}.combine(mine, theirs);
        } else {
            const void* const both[] = {mine.data(), theirs.data()};
            widen(range, both);
        }
    }
    // A round in which others have added.
    void add_nothing() {
        if (!widens_ || is_wide_) return;
        const void* const one[] = {data_.data()};
        widen(all(), one);
    }

    // The result, after the last round, once for a range; `out` may be the contribution.
    void finish(Bytes out, Range range) const {
        if (is_wide_) return reduction_.round(out, of(range), exchange_.size());
        copy(out, of(range));
        reduction_.finish(out, exchange_.size());
    }
    // The same in memory that lasts as long as the messages.
    [[nodiscard]] Bytes finished(Range range) const {
        const size_t bytes = (range.end - range.begin) * reduction_.element();
        const Bytes out = is_wide_ ? exchange_.room(bytes) : of(range);
        finish(out, range);
        return out;
    }

private:
    void widen(Range range, std::span<const void* const> inputs) {
        is_wide_ = true;
        partial_.combine_all(of(range), inputs, Stores::Ordinary);
    }

    Exchange& exchange_;
    const Reduction& reduction_;
    const Reduction partial_ = reduction_.partial();
    const bool widens_;
    const Bytes data_;
    Bytes sums_;
    Bytes theirs_;
    bool is_wide_ = false;
};

}  // namespace tutti::algorithm
