// One message in Gloo's hands: an unbound buffer that knows its transfer. Lock order: a
// connection's lock, then the ledger's.
#pragma once

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include <gloo/transport/tcp/unbound_buffer.h>

#include "base/mutex.hpp"
#include "transport/channel.hpp"

namespace tutti::gloo_channel {

class Request;

// Listeners to call once this thread holds no lock of a connection: whoever may complete requests
// ends with flush().
void flush_completions() noexcept;

class Connection;

// The requests of a channel that are under way.
class Ledger {
public:
    // `members`: the rank in the channel's group, for each connection; empty: the connection's own.
    explicit Ledger(std::vector<int> members) : members_(std::move(members)) {}
    [[nodiscard]] int member(int world_rank) const {
        return members_.empty() ? world_rank : members_[static_cast<size_t>(world_rank)];
    }
    // Whether a request was ever withdrawn before Gloo was done with it, and so left traces there.
    [[nodiscard]] bool untidy() const { return untidy_; }
    void mark_untidy() { untidy_ = true; }

    void enter(Request& request);
    void leave(Request& request) noexcept;
    static constexpr int everything = -2;
    // Completes those of one peer, those of any (-1), or everything, with a failure.
    void fail(int peer, const Status& status) noexcept;
    // Returns when their owners have let go of all of them.
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
            Transfer& transfer, int peer, void* data, size_t bytes);
    ~Request() override;

    // The first completion counts. The transfer may be gone when this returns.
    void complete(Status status, int peer, size_t bytes) noexcept;
    // Before its first byte goes: false if it must not go.
    bool begin() noexcept;
    bool stop() noexcept override;
    // By Gloo, which is done with it: `connection` took or brought all of it.
    void pass(int world_rank, size_t bytes) noexcept;
    // More came than there is room for.
    void overflow(int world_rank, size_t bytes, size_t room) noexcept;
    // For who may find it gone.
    using Weak = ::gloo::WeakNonOwningPtr<::gloo::transport::tcp::UnboundBuffer>;
    [[nodiscard]] Weak weak() const { return getWeakNonOwningPtr(); }
    // Hands it to the connection that its memory leaves by; false if it is being withdrawn.
    template <typename Hand>
    bool leave_by(Connection& connection, Hand&& hand) {
        const Lock lock(leaving_);
        if (is_withdrawn_) return false;
        outgoing_ = &connection;
        hand();
        return true;
    }
    // The last thing that Gloo's loop does with it: what it did happens before the destruction.
    void let_go() noexcept { uses_.fetch_add(1, std::memory_order_release); }

private:
    friend class Ledger;
    Ledger& ledger_;
    Transfer& transfer_;
    const int peer_;  // -1: any
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
