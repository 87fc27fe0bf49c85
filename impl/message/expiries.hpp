// Operations in the background by their deadlines: a heap, so that many of them cost no search when
// one is late. Under the lock of the Messages.
#pragma once

#include <cstddef>
#include <vector>

#include "base/deadline.hpp"
#include "operation.hpp"

namespace tutti::message {

class Expiries {
public:
    using TimePoint = Deadline::Clock::time_point;

    // For one more; throws bad_alloc.
    void make_room();
    // There is room. One without a deadline is left out.
    void add(Operation& operation) noexcept;
    // If it is here.
    void remove(Operation& operation) noexcept;
    // Takes out one whose deadline has passed; null: there is none.
    Operation* take_late(TimePoint now) noexcept;
    // The first deadline.
    [[nodiscard]] TimePoint next() const {
        return heap_.empty() ? TimePoint::max() : heap_.front()->deadline.when();
    }

private:
    void put(size_t index, Operation& operation) noexcept;
    void sink(size_t index, Operation& operation) noexcept;
    void rise(size_t index, Operation& operation) noexcept;

    std::vector<Operation*> heap_;
};

}  // namespace tutti::message
