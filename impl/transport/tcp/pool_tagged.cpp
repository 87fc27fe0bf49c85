// Tagged messages. All that a post pushes goes out with flush_tagged(), for the listener's lock may
// be held until then.
#include <utility>

#include "base/error.hpp"
#include "pool.hpp"

namespace tutti::tcp {

void Pool::open_tagged(Mailbox& mailbox, std::weak_ptr<TaggedMessages::Listener> listener) {
    {
        const Lock lock(mutex_);
        mailbox.tagged().open(std::move(listener));
    }
    tell();
}

void Pool::collect(Mailbox& mailbox, std::vector<TaggedMessages::Event>& events) {
    const Lock lock(mutex_);
    mailbox.collect(events);
}

Post& Pool::enter(std::unique_ptr<Post> post, Mailbox& mailbox, int peer, Slot slot, void* data,
                  size_t bytes) {
    Request& request =
        post->request.emplace(*this, mailbox, *post->transfer, peer, slot, data, bytes);
    request.post = post.get();
    post->transfer->is_followed = true;  // by the flush
    mailbox.enter(request);
    return *post.release();
}

TaggedPost& Pool::send_tagged(Mailbox& mailbox, void* owner, int peer, Slot slot, ConstBytes data) {
    const int to = mailbox.members()->world_rank(peer);
    const Lock lock(mutex_);
    mailbox.check_not_aborted(slot);
    Post& post = enter(mailbox.tagged().make_post(owner, true), mailbox, to, slot,
                       const_cast<std::byte*>(data.data()), data.size());
    if (mailbox.is_gone(to)) {
        mailbox.finish(*post.request, mailbox.why_gone(to), 0);
        return post;
    }
    try {
        flush_later(link(to));
        link(to).send(*post.request);
        return post;
    } catch (...) {
        mailbox.drop(*post.request);
        mailbox.tagged().free(post);
        throw;
    }
}

bool Pool::stop_tagged(Mailbox& mailbox, Post& send) noexcept {
    const Lock lock(mutex_);
    Request& request = *send.request;
    if (!request.is_pending || request.link == nullptr) return false;
    Link& there = *request.link;
    flush_later(there);
    if (!there.take_back(request)) return false;
    request.link = nullptr;
    mailbox.drop(request);
    mailbox.tagged().free(send);
    return true;
}

TaggedMessages::Taken Pool::take_tagged(Mailbox& mailbox, Arrival& arrival, void* owner,
                                        Bytes into) {
    const Lock lock(mutex_);
    if (arrival.is_withdrawn) {
        mailbox.remove(arrival);
        return TaggedMessages::Taken::Withdrawn;
    }
    const Slot slot = Slot::tagged(Slot::tag_of(arrival.slot), Slot::type_of(arrival.slot));
    mailbox.check_not_aborted(slot);
    Link& from = *arrival.link;
    flush_later(from);
    if (!arrival.is_offer) {
        from.take_tagged(arrival, mailbox, into);
        return TaggedMessages::Taken::All;
    }
    Post& post = enter(mailbox.tagged().make_post(owner, false), mailbox, from.peer(), slot,
                       into.data(), into.size());
    from.accept(arrival, *post.request);
    return TaggedMessages::Taken::Coming;
}

bool Pool::refuse_tagged(Mailbox& mailbox, Arrival& arrival) noexcept {
    const Lock lock(mutex_);
    if (arrival.is_withdrawn) {
        mailbox.remove(arrival);
        return false;
    }
    flush_later(*arrival.link);
    arrival.link->refuse_tagged(arrival, mailbox);
    return true;
}

void Pool::drop_tagged(Mailbox& mailbox, Arrival& arrival) noexcept {
    const Lock lock(mutex_);
    if (!arrival.is_withdrawn) {
        flush_later(*arrival.link);
        arrival.link->abandon(arrival);
    }
    mailbox.remove(arrival);
}

void Pool::flush_later(Link& link) {
    if (std::exchange(link.waits_for_flush, true)) return;
    to_flush_.push_back(&link);
    has_to_flush_ = true;
}

void Pool::flush_tagged() noexcept {
    std::vector<int> unconnected;
    if (has_to_flush_) {
        const Lock lock(mutex_);
        for (Link* const link : to_flush_) {
            link->waits_for_flush = false;
            link->flush();
            if (!link->is_open()) unconnected.push_back(link->peer());
        }
        to_flush_.clear();
        has_to_flush_ = false;
    }
    for (const int peer : unconnected) {
        try {
            connector_->ensure_connected(peer);
        } catch (...) {
            not_connected(peer, current_status());
        }
    }
    waiting_->employ();
    tell();
}

}  // namespace tutti::tcp
