// A message of this rank's that is under way, and lists of such. Under the lock of its Messages.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "backend/call/message.hpp"
#include "base/deadline.hpp"
#include "base/status.hpp"
#include "mailbox.hpp"
#include "work/work.hpp"

namespace tutti::shm {

// Something that stands in one list at most.
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
    void push_back(Item& item) {
        item.before = end_.before;
        item.after = &end_;
        end_.before->after = &item;
        end_.before = &item;
    }
    Item& take_front() {
        Item& first = front();
        first.leave_list();
        return first;
    }
    // All of the other one's, which is empty then.
    void take(List& other) {
        while (!other.empty()) push_back(other.take_front());
    }
    // The first that `found` is true for, or null; it may take that one out of the list, and no
    // other.
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

// Somebody waits for it on a stack, or it has a work and is on the heap.
struct Operation : Listed {
    Operation(const Deadline& until, std::shared_ptr<Work> its_work)
        : deadline(until), work(std::move(its_work)) {}
    virtual ~Operation() = default;

    const Deadline deadline;
    const std::shared_ptr<Work> work;
    Status status;
    int source = -1;
    // Of one without a work: the one who waits may be gone as soon as this is true.
    std::atomic<bool> done{false};
};

struct Sending final : Operation {
    Sending(const Send& send, const Deadline& until, std::shared_ptr<Work> its_work)
        : Operation(until, std::move(its_work)), call(send) {}

    enum class Stage { Queued, Offered, Streaming };

    const Send call;
    Stage stage = Stage::Queued;
    uint64_t number = 0;  // since it was offered
    uint32_t offer = 0;
    bool has_begun = false;  // in the stream
    size_t moved = 0;
};

struct Receiving final : Operation {
    Receiving(const Receive& receive, const Deadline& until, std::shared_ptr<Work> its_work)
        : Operation(until, std::move(its_work)), call(receive) {}

    // Finds room for such a message; says why there is none.
    Status make_room(Content content, int64_t count, tutti_dtype dtype, int from) noexcept;
    // All is there.
    void deliver(int from) noexcept;

    const Receive call;
    uint64_t number = 0;  // of the message that it has taken, whose data are still to come,
    uint32_t offer = 0;   // the offer of that,
    Whereabouts where{};  // and where they are
    std::span<std::byte> room;
    size_t moved = 0;

private:
    OwnedBytes bytes_;  // what is given on as Incoming
};

// Who learns that an operation has come to its end; it stands in no list any more.
class Ends {
public:
    virtual void end(Operation& operation, const Status& status, int source = -1) noexcept = 0;

protected:
    ~Ends() = default;
};

}  // namespace tutti::shm
