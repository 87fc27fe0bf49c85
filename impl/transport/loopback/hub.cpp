#include "hub.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "membership/missing_ranks.hpp"

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

}  // namespace

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
            if (owner.gone.contains(post.peer)) {
                throw Error(membership::left_error(post.peer));
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
    notify(listeners);
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

void Hub::notify(const Listeners& listeners) noexcept {
    for (const Done& done : listeners) done.listener->transfer_done(*done.transfer);
}

void Hub::abort(int rank, const Status& status) noexcept {
    Listeners listeners;
    {
        const Lock lock(mutex_);
        Rank& owner = ranks_[static_cast<size_t>(rank)];
        if (!owner.aborted.ok()) return;
        owner.aborted = status;
        listeners = finish_where([rank](const Post& post) { return post.owner == rank; }, status);
    }
    notify(listeners);
}

void Hub::peer_left(int rank, int peer) noexcept {
    Listeners listeners;
    {
        const Lock lock(mutex_);
        std::set<int>& others = ranks_[static_cast<size_t>(rank)].gone;
        others.insert(peer);
        const bool is_alone = others.size() + 1 == ranks_.size();
        listeners =
            finish_where([=](const Post& post) { return post.owner == rank && post.peer == peer; },
                         membership::left_error(peer));
        if (is_alone) {
            const auto of_any = finish_where(
                [=](const Post& post) { return post.owner == rank && post.peer == -1; },
                membership::all_others_left_error());
            listeners.insert(listeners.end(), of_any.begin(), of_any.end());
        }
    }
    notify(listeners);
}

}  // namespace tutti::loopback
