// A pending message of this rank, and lists of such. Under the lock of the Messages.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "base/deadline.hpp"
#include "base/status.hpp"
#include "call/message.hpp"
#include "work/work.hpp"

namespace tutti::message {

// An element of one list at most.
struct Listed {
    Listed* before = nullptr;
    Listed* after = nullptr;

    Listed() = default;
    Listed(const Listed&) = delete;
    Listed& operator=(const Listed&) = delete;
    ~Listed() = default;

    [[nodiscard]] bool is_listed() const { return after != nullptr; }
    void leave_list() {
        if (!is_listed()) return;
        before->after = after;
        after->before = before;
        before = after = nullptr;
    }
    void enter_list_before(Listed& other) {
        before = other.before;
        after = &other;
        other.before->after = this;
        other.before = this;
    }
};

// Owns nothing, allocates nothing.
template <typename Item>
class List {
public:
    List() { end_.before = end_.after = &end_; }
    List(const List&) = delete;
    List& operator=(const List&) = delete;

    [[nodiscard]] bool empty() const { return end_.after == &end_; }
    [[nodiscard]] Item& front() { return static_cast<Item&>(*end_.after); }
    [[nodiscard]] bool has_one() const { return !empty() && end_.after == end_.before; }
    void push_back(Item& item) { item.enter_list_before(end_); }
    // Behind the last one for which `precedes` is true, searched from the end.
    template <typename Precedes>
    void insert_after_last(Item& item, Precedes&& precedes) {
        Listed* next = &end_;
        while (next->before != &end_ && !precedes(static_cast<Item&>(*next->before))) {
            next = next->before;
        }
        item.enter_list_before(*next);
    }
    Item& take_front() {
        Item& first = front();
        first.leave_list();
        return first;
    }
    // All of the other list, which is empty then.
    void take(List& other) {
        while (!other.empty()) push_back(other.take_front());
    }
    // The first for which `found` is true, or null; `found` may remove that one from the list, and
    // no other.
    template <typename Found>
    Item* find(Found&& found) {
        for (Listed* at = end_.after; at != &end_;) {
            auto* const item = static_cast<Item*>(at);
            at = at->after;
            if (found(*item)) return item;
        }
        return nullptr;
    }

private:
    Listed end_;
};

// It lives on the stack of the caller that waits for it, or on the heap if it has a work.
struct Operation : Listed {
    Operation(const Deadline& until, std::shared_ptr<Work> its_work)
        : deadline(until.successor()), work(std::move(its_work)) {}
    virtual ~Operation() = default;

    const Deadline deadline;
    const std::shared_ptr<Work> work;
    Status status;
    int source = -1;
    bool is_late = false;    // its deadline has passed; if it still exists, it had begun
    bool is_driven = false;  // it ends only if a thread advances the messages
    // Without a work: the caller may return as soon as the lock is free and this is true.
    std::atomic<bool> done{false};
};

// Data that a rank may read in another one's memory.
struct Location {
    uint64_t address;  // in the owner's process
    uint64_t place;    // in memory that it has shared; 0: in none
};

// The deadline has passed of a receive without a message, or of a send that no receive has taken.
Status timed_out(const Receive& call);
Status timed_out(const Send& call);

struct Sending final : Operation {
    Sending(const Send& send, const Deadline& until, std::shared_ptr<Work> its_work)
        : Operation(until, std::move(its_work)), call(send) {}

    const Send call;

    // State of rings/.
    enum class Stage { Queued, Offered, Streaming };
    Stage stage = Stage::Queued;
    uint64_t sequence = 0;  // since it was offered
    uint32_t offer = 0;
    bool has_begun = false;  // in the stream
    size_t moved = 0;
    // State of lanes/.
    std::shared_ptr<void> outgoing;
};

struct Receiving final : Operation {
    Receiving(const Receive& receive, const Deadline& until, std::shared_ptr<Work> its_work)
        : Operation(until, std::move(its_work)), call(receive) {}

    // Finds room for such a message; the status says why there is none.
    Status make_room(Content content, int64_t count, tutti_dtype dtype, int from) noexcept;
    // All data have arrived.
    void deliver(int from) noexcept;

    const Receive call;
    uint64_t turn = 0;         // receives take messages in this order
    bool has_message = false;  // whose data are still to arrive
    std::span<std::byte> room;

    // State of rings/ about that message.
    uint64_t sequence = 0;
    uint32_t offer = 0;
    Location where{};
    size_t moved = 0;

private:
    OwnedBytes bytes_;  // to become Incoming
};

}  // namespace tutti::message
