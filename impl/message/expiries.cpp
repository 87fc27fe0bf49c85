#include "expiries.hpp"

#include <algorithm>

namespace tutti::message {

namespace {

bool is_before(const Operation& one, const Operation& other) {
    return one.deadline.when() < other.deadline.when();
}

}  // namespace

void Expiries::make_room() {
    if (heap_.size() == heap_.capacity()) heap_.reserve(std::max<size_t>(16, 2 * heap_.size()));
}

void Expiries::add(Operation& operation) noexcept {
    if (operation.deadline.when() == TimePoint::max()) return;
    heap_.push_back(&operation);
    rise(heap_.size() - 1, operation);
}

void Expiries::remove(Operation& operation) noexcept {
    if (operation.place == 0) return;
    const size_t index = operation.place - 1;
    operation.place = 0;
    Operation& last = *heap_.back();
    heap_.pop_back();
    if (&last == &operation) return;
    if (index > 0 && is_before(last, *heap_[(index - 1) / 2])) {
        rise(index, last);
    } else {
        sink(index, last);
    }
}

Operation* Expiries::take_late(TimePoint now) noexcept {
    if (next() > now || heap_.empty()) return nullptr;
    Operation& first = *heap_.front();
    remove(first);
    return &first;
}

void Expiries::put(size_t index, Operation& operation) noexcept {
    heap_[index] = &operation;
    operation.place = index + 1;
}

void Expiries::rise(size_t index, Operation& operation) noexcept {
    while (index > 0 && is_before(operation, *heap_[(index - 1) / 2])) {
        put(index, *heap_[(index - 1) / 2]);
        index = (index - 1) / 2;
    }
    put(index, operation);
}

void Expiries::sink(size_t index, Operation& operation) noexcept {
    for (size_t next = 2 * index + 1; next < heap_.size(); next = 2 * index + 1) {
        if (next + 1 < heap_.size() && is_before(*heap_[next + 1], *heap_[next])) ++next;
        if (!is_before(*heap_[next], operation)) break;
        put(index, *heap_[next]);
        index = next;
    }
    put(index, operation);
}

}  // namespace tutti::message
