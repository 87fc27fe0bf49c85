// A pending message of this rank. Under the lock of the Messages.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "base/deadline.hpp"
#include "base/keyed_queues.hpp"
#include "base/list.hpp"
#include "base/status.hpp"
#include "call/message.hpp"
#include "work/work.hpp"

namespace tutti::message {

class Queues;

// It lives on the stack of the caller that waits for it, or on the heap if it has a work.
struct Operation : Listed {
    Operation(const Deadline& until, std::shared_ptr<Work> its_work)
        : deadline(until.successor()), work(std::move(its_work)) {}
    virtual ~Operation() = default;

    // Starts it; it may have ended already. Throws why it cannot start.
    virtual void post(Queues& queues) = 0;
    // Its deadline has passed: ends it, if nothing of it has moved.
    virtual void time_out(Queues& queues) = 0;
    // The other rank; any_source: whichever sends.
    [[nodiscard]] virtual int peer() const = 0;
    // Of the caller's buffer.
    [[nodiscard]] virtual size_t bytes() const = 0;

    const Deadline deadline;
    const std::shared_ptr<Work> work;
    Status status;
    int source = -1;
    bool is_late = false;    // its deadline has passed; if it still exists, it had begun
    bool is_driven = false;  // it ends only if a thread advances the messages
    size_t place = 0;        // among those that have a deadline, from 1 on; 0: nowhere
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

struct Arrival;

struct Sending final : Operation {
    Sending(const Send& send, const Deadline& until, std::shared_ptr<Work> its_work)
        : Operation(until, std::move(its_work)), call(send) {}
    void post(Queues& queues) override;
    void time_out(Queues& queues) override;
    [[nodiscard]] int peer() const override { return call.destination; }
    [[nodiscard]] size_t bytes() const override { return call.buffer.size(); }

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
    // State of tags/: its post.
    void* posted = nullptr;
    // Set for one to this rank itself that no receive has taken.
    Arrival* arrival = nullptr;
};

struct Receiving final : Operation {
    Receiving(const Receive& receive, const Deadline& until, std::shared_ptr<Work> its_work)
        : Operation(until, std::move(its_work)), call(receive) {}
    void post(Queues& queues) override;
    void time_out(Queues& queues) override;
    [[nodiscard]] int peer() const override { return call.source; }
    [[nodiscard]] size_t bytes() const override { return call.buffer.size(); }

    // Finds room for such a message; the status says why there is none.
    Status make_room(Content content, int64_t count, tutti_dtype dtype, int from) noexcept;
    // All data have arrived.
    void deliver(int from) noexcept;

    const Receive call;
    uint64_t turn = 0;  // receives take messages in this order
    // While it waits for its message.
    QueuePlace<Receiving> waiting;
    QueuePlace<Receiving> by_work;
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
