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
    Hold(std::shared_ptr<Hub> hub, std::unique_ptr<Hub::Post> post)
        : hub_(std::move(hub)), post_(std::move(post)) {}
    ~Hold() override {
        if (post_) hub_->withdraw(*post_);
    }
    bool stop() noexcept override { return post_ && hub_->stop(post_); }

private:
    const std::shared_ptr<Hub> hub_;
    std::unique_ptr<Hub::Post> post_;  // null: the hub has it
};

}  // namespace

// Sends that were stopped are left.
Hub::~Hub() {
    for (Rank& one : ranks_) {
        while (!one.posted.empty()) delete &one.posted.take_front();
    }
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

Hub::Post* Hub::partner_of(const Post& post) {
    if (post.is_send) return rank(post.peer).matching.receive_for(post.slot, post.owner);
    return rank(post.owner).matching.message_for(post.slot, post.peer);
}

void Hub::wait(Post& post) {
    Rank& receiver = rank(post.is_send ? post.peer : post.owner);
    if (post.is_send) {
        receiver.matching.add_message(post, post.slot, post.owner);
    } else {
        post.turn = ++receiver.turns;
        receiver.matching.add_receive(post, post.slot, post.peer);
    }
    rank(post.owner).posted.push_back(post);
}

// It need not wait any more.
void Hub::leave(Post& post) noexcept {
    auto& matching = rank(post.is_send ? post.peer : post.owner).matching;
    post.is_send ? matching.remove_message(post) : matching.remove_receive(post);
    post.leave_list();
}

void Hub::meet(Post& send, Post& receive, Listeners& listeners) {
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

void Hub::post(std::unique_ptr<Post> post) {
    Post& posted = *post;
    // Before the transfer can be done, and with it gone.
    posted.transfer->hold = std::make_unique<Hold>(shared_from_this(), std::move(post));
    Listeners listeners;
    std::unique_ptr<Post> stopped;
    {
        const Lock lock(mutex_);
        const Rank& owner = rank(posted.owner);
        const Status& why = posted.is_collective ? owner.aborted : owner.messages_aborted;
        if (!why.ok()) throw Error(why);
        Post* const partner = partner_of(posted);
        if (partner == nullptr) {
            if (owner.gone.contains(posted.peer)) throw Error(membership::left_error(posted.peer));
            return wait(posted);
        }
        leave(*partner);
        if (partner->transfer == nullptr) stopped.reset(partner);
        meet(posted.is_send ? posted : *partner, posted.is_send ? *partner : posted, listeners);
    }
    notify(listeners);
}

void Hub::withdraw(Post& post) noexcept {
    const Lock lock(mutex_);
    if (post.is_listed()) leave(post);
}

bool Hub::stop(std::unique_ptr<Post>& post) noexcept {
    const Lock lock(mutex_);
    if (!post->is_listed()) return false;
    post->transfer = nullptr;
    post->data = nullptr;
    post->bytes = 0;
    static_cast<void>(post.release());
    return true;
}

template <typename Predicate>
void Hub::finish_where(int owner, Predicate&& predicate, const Status& status,
                       Listeners& listeners) noexcept {
    rank(owner).posted.find([&](Post& post) TUTTI_NO_THREAD_SAFETY_ANALYSIS {
        if (!predicate(post)) return false;
        leave(post);
        finish(post, status, post.peer, 0, listeners);
        if (post.transfer == nullptr) delete &post;
        return false;
    });
}

void Hub::notify(const Listeners& listeners) noexcept {
    for (const Done& done : listeners) done.listener->transfer_done(*done.transfer);
}

void Hub::abort(int rank, const Status& status) noexcept {
    Listeners listeners;
    {
        const Lock lock(mutex_);
        Rank& owner = this->rank(rank);
        if (!owner.aborted.ok()) return;
        owner.aborted = status;
        if (owner.messages_aborted.ok()) owner.messages_aborted = status;
        finish_where(
            rank, [](const Post& /*post*/) { return true; }, status, listeners);
    }
    notify(listeners);
}

void Hub::abort_messages(int rank, const Status& status) noexcept {
    Listeners listeners;
    {
        const Lock lock(mutex_);
        Rank& owner = this->rank(rank);
        if (!owner.messages_aborted.ok()) return;
        owner.messages_aborted = status;
        finish_where(
            rank, [](const Post& post) { return !post.is_collective; }, status, listeners);
    }
    notify(listeners);
}

void Hub::peer_left(int rank, int peer) noexcept {
    Listeners listeners;
    {
        const Lock lock(mutex_);
        std::set<int>& others = this->rank(rank).gone;
        others.insert(peer);
        const auto end_those_of = [&](int one, const Status& status) TUTTI_REQUIRES(mutex_) {
            finish_where(
                rank, [one](const Post& post) { return post.peer == one; }, status, listeners);
        };
        end_those_of(peer, membership::left_error(peer));
        if (others.size() + 1 == ranks_.size()) {
            end_those_of(-1, membership::all_others_left_error());
        }
    }
    notify(listeners);
}

}  // namespace tutti::loopback
