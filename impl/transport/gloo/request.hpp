// One message in Gloo's hands: an unbound buffer that knows its transfer; and how its listener is
// told. Lock order: a connection's lock, then the ledger's.
#pragma once

#include <atomic>
#include <functional>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include <gloo/transport/tcp/unbound_buffer.h>

#include "base/mutex.hpp"
#include "transport/channel.hpp"

namespace tutti::gloo_channel {

class Request;

// On the stack: what its thread completes while it lives is told to the listeners, in order, when
// the thread's outermost one ends. No request is completed without one, and where a connection's
// lock may complete some, one is open around it: so none is forgotten or told under that lock.
class Completions {
public:
    Completions() noexcept;
    ~Completions();
    Completions(const Completions&) = delete;
    Completions& operator=(const Completions&) = delete;

    // For what Gloo calls back: the one that was opened before it was called.
    static Completions& open() noexcept;
    void add(const std::shared_ptr<TransferListener>& listener, Transfer& transfer);
    // Behind those that were added so far.
    void then(std::function<void(Completions&)> act);
    // By who waits next for those that were added to be told. Elsewhere listeners within listeners
    // have a limit, beyond which the outer ones go on.
    void tell_however_deep() noexcept { deepest_ = std::numeric_limits<int>::max(); }

private:
    void tell() noexcept;

    int deepest_ = 16;  // for the stack
};

class Connection;

// The pending requests of a channel.
class Ledger {
public:
    // `members`: the rank in the channel's group, for each connection; empty: the connection's own.
    explicit Ledger(std::vector<int> members) : members_(std::move(members)) {}
    [[nodiscard]] int member(int world_rank) const {
        return members_.empty() ? world_rank : members_[static_cast<size_t>(world_rank)];
    }
    // Whether a request was withdrawn before Gloo was done with it, and so left traces there.
    [[nodiscard]] bool untidy() const { return untidy_; }
    void mark_untidy() { untidy_ = true; }

    void enter(Request& request);
    void leave(Request& request) noexcept;
    static constexpr int everything = -2;
    static constexpr int messages = -3;  // all but those of collectives
    // Fails the requests of one peer, those of any (-1), or everything, or messages.
    void fail(Completions& completions, int peer, const Status& status) noexcept;
    // Returns when all are destroyed.
    void wait_until_empty() noexcept;

private:
    const std::vector<int> members_;
    std::atomic<bool> untidy_{false};
    Mutex mutex_;
    Condition emptied_;
    Request* first_ TUTTI_GUARDED_BY(mutex_) = nullptr;
};

class Request : public ::gloo::transport::tcp::UnboundBuffer, public TransferHold {
public:
    // `peer` in the group.
    Request(const std::shared_ptr<::gloo::transport::tcp::Context>& context, Ledger& ledger,
            Transfer& transfer, int peer, Slot slot, void* data, size_t bytes);
    ~Request() override;

    // The first completion counts. The transfer may be gone when this returns.
    void complete(Completions& completions, Status status, int peer, size_t bytes) noexcept;
    // Before its first byte is sent: false if it must not be.
    bool begin() noexcept;
    bool stop() noexcept override;
    // By Gloo, which is done with it: the connection has sent or received all of it.
    void pass(Completions& completions, int world_rank, size_t bytes) noexcept;
    // The message is longer than its receive.
    void overflow(Completions& completions, int world_rank, size_t bytes, size_t room) noexcept;
    // For users that may outlive it.
    using Weak = ::gloo::WeakNonOwningPtr<::gloo::transport::tcp::UnboundBuffer>;
    [[nodiscard]] Weak weak() const { return getWeakNonOwningPtr(); }
    // Passes it to the connection that sends it; false if it is being withdrawn.
    template <typename Hand>
    bool leave_by(Connection& connection, Hand&& hand) {
        const Lock lock(leaving_);
        if (is_withdrawn_) return false;
        outgoing_ = &connection;
        hand();
        return true;
    }
    // The last use by Gloo's loop: all its uses happen before the destruction.
    void let_go() noexcept { uses_.fetch_add(1, std::memory_order_release); }

private:
    friend class Ledger;
    using UnboundBuffer::recv;  // only inside Completions
    using UnboundBuffer::send;

    Ledger& ledger_;
    Transfer& transfer_;
    const int peer_;  // -1: any
    const bool is_collective_;
    enum class Stage : int { Posted, Moving, Ended };
    Mutex leaving_;  // before a connection's
    Connection* outgoing_ TUTTI_GUARDED_BY(leaving_) = nullptr;
    bool is_withdrawn_ TUTTI_GUARDED_BY(leaving_) = false;
    std::atomic<bool> passed_{false};
    std::atomic<Stage> stage_{Stage::Posted};
    std::atomic<uint32_t> uses_{0};
    Request* next_ = nullptr;
    Request* previous_ = nullptr;
};

}  // namespace tutti::gloo_channel
