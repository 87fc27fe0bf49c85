#include "hub.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "control/absence.hpp"

namespace tutti::loopback {

namespace {

class Hold : public TransferHold {
public:
    Hold(std::shared_ptr<Hub> hub, const Transfer& transfer)
        : hub_(std::move(hub)), transfer_(transfer) {}
    ~Hold() override { hub_->withdraw(transfer_); }
    bool stop() noexcept override { return hub_->stop(transfer_); }

private:
    const std::shared_ptr<Hub> hub_;
    const Transfer& transfer_;
};

Status gone(int rank) {
    return {TUTTI_ERR_PEER_LOST, rank, 0, cat("rank ", rank, " left the group")};
}

}  // namespace

std::vector<int> Hub::missing() const {
    std::vector<int> ranks;
    for (size_t rank = 0; rank < ranks_.size(); ++rank) {
        if (!ranks_[rank].here) ranks.push_back(static_cast<int>(rank));
    }
    return ranks;
}

void Hub::meet(int rank, const Deadline& deadline) {
    Lock lock(mutex_);
    bool& here = ranks_[static_cast<size_t>(rank)].here;
    if (here) {
        throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                    cat("another thread has come as rank ", rank, " before"), rank);
    }
    here = true;
    arrived_.notify_all();
    while (!missing().empty()) {
        if (arrived_.wait(lock, deadline) || missing().empty()) continue;
        throw control::have_not_come(control::list_of_ranks(missing()));
    }
}

bool Hub::matches(const Post& send, const Post& receive) const {
    return send.slot == receive.slot && send.peer == receive.owner &&
           (receive.peer == send.owner || (receive.peer == -1 && receive.owner != send.owner));
}

void Hub::finish(const Post& post, Status status, int peer, size_t bytes, Listeners& listeners) {
    if (post.transfer == nullptr) return;
    Transfer& transfer = *post.transfer;
    transfer.status = std::move(status);
    transfer.peer = peer;
    transfer.bytes = bytes;
    listeners.push_back({transfer.listener, &transfer});
    transfer.done.store(true, std::memory_order_release);
}

void Hub::post(const Post& post) {
    // Before the transfer can be done, and with it gone.
    post.transfer->hold = std::make_unique<Hold>(shared_from_this(), *post.transfer);
    Listeners listeners;
    {
        const Lock lock(mutex_);
        const Rank& owner = ranks_[static_cast<size_t>(post.owner)];
        if (!owner.aborted.ok()) throw Error(owner.aborted);
        const auto partner = std::ranges::find_if(waiting_, [&](const Post& other) {
            if (other.is_send == post.is_send) return false;
            return post.is_send ? matches(post, other) : matches(other, post);
        });
        if (partner == waiting_.end()) {
            if (post.peer != -1 && ranks_[static_cast<size_t>(post.peer)].gone) {
                throw Error(gone(post.peer));
            }
            waiting_.push_back(post);
            return;
        }
        const Post other = *partner;
        waiting_.erase(partner);
        const Post& send = post.is_send ? post : other;
        const Post& receive = post.is_send ? other : post;
        Status status;
        if (send.bytes > receive.bytes) {
            status = {TUTTI_ERR_MISMATCH, send.owner, 0,
                      cat("rank ", send.owner, " sent ", send.bytes, " bytes where ", receive.bytes,
                          " were expected")};
        } else if (send.bytes > 0) {
            std::memcpy(receive.data, send.data, send.bytes);
        }
        finish(receive, std::move(status), send.owner, send.bytes, listeners);
        finish(send, {}, receive.owner, send.bytes, listeners);
    }
    tell(listeners);
}

void Hub::withdraw(const Transfer& transfer) noexcept {
    const Lock lock(mutex_);
    if (transfer.done.load(std::memory_order_relaxed)) return;  // and so it waits no more
    std::erase_if(waiting_, [&](const Post& post) { return post.transfer == &transfer; });
}

bool Hub::stop(const Transfer& transfer) noexcept {
    const Lock lock(mutex_);
    const auto found = std::ranges::find(waiting_, &transfer, &Post::transfer);
    if (found == waiting_.end()) return false;
    found->transfer = nullptr;
    found->data = nullptr;
    found->bytes = 0;
    return true;
}

template <typename Predicate>
Hub::Listeners Hub::finish_where(Predicate&& predicate, const Status& status) noexcept {
    Listeners listeners;
    std::erase_if(waiting_, [&](const Post& post) {
        if (!predicate(post)) return false;
        finish(post, status, post.peer, 0, listeners);
        return true;
    });
    return listeners;
}

void Hub::tell(const Listeners& listeners) noexcept {
    for (const Done& done : listeners) done.listener->transfer_done(*done.transfer);
}

template <typename Chosen>
void Hub::abort_where(Chosen&& chosen, const Status& status) noexcept {
    Listeners listeners;
    {
        const Lock lock(mutex_);
        std::vector<bool> aborted(ranks_.size());
        for (size_t rank = 0; rank < ranks_.size(); ++rank) {
            if (!chosen(static_cast<int>(rank)) || !ranks_[rank].aborted.ok()) continue;
            ranks_[rank].aborted = status;
            aborted[rank] = true;
        }
        listeners = finish_where(
            [&](const Post& post) { return aborted[static_cast<size_t>(post.owner)]; }, status);
    }
    tell(listeners);
}

void Hub::abort(int rank, const Status& status) noexcept {
    abort_where([rank](int one) { return one == rank; }, status);
}

void Hub::abort_others(int rank, const Status& status) noexcept {
    abort_where([rank](int one) { return one != rank; }, status);
}

void Hub::stalled(int rank, const control::Stall& stall) noexcept {
    std::optional<Status> mismatch;
    {
        const Lock lock(mutex_);
        mismatch = stalls_.add(rank, stall);
    }
    if (mismatch) abort_where([](int /*one*/) { return true; }, *mismatch);
}

void Hub::leave(int rank) noexcept {
    Listeners listeners;
    {
        const Lock lock(mutex_);
        ranks_[static_cast<size_t>(rank)].gone = true;
        listeners =
            finish_where([rank](const Post& post) { return post.peer == rank; }, gone(rank));
    }
    tell(listeners);
}

std::shared_ptr<Hub> Hub::branch(const std::string& path, int size) {
    const Lock lock(mutex_);
    const auto [place, is_new] = branches_.try_emplace(path);
    if (is_new) place->second = {std::make_shared<Hub>(size), size};
    auto hub = place->second.hub;
    if (--place->second.to_come == 0) branches_.erase(place);
    return hub;
}

Status Hub::trouble(int rank, int peer) const {
    const Lock lock(mutex_);
    const Status& aborted = ranks_[static_cast<size_t>(rank)].aborted;
    if (!aborted.ok()) return aborted;
    return ranks_[static_cast<size_t>(peer)].gone ? gone(peer) : Status{};
}

}  // namespace tutti::loopback
