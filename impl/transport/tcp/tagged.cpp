#include "tagged.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "mailbox.hpp"

namespace tutti::tcp {

namespace {

constexpr size_t most_spare = 64;

}  // namespace

void News::add(Tagged& group) {
    if (std::ranges::find(groups_, &group) == groups_.end()) groups_.push_back(&group);
    has_any_ = true;
}

void News::remove(const Tagged& group) noexcept {
    std::erase(groups_, &group);
    has_any_ = !groups_.empty();
}

std::shared_ptr<TaggedMessages::Listener> News::take() noexcept {
    while (!groups_.empty()) {
        auto listener = groups_.back()->listener();
        groups_.pop_back();
        has_any_ = !groups_.empty();
        if (listener) return listener;
    }
    return nullptr;
}

void Tagged::open(std::weak_ptr<TaggedMessages::Listener> listener) {
    listener_ = std::move(listener);
    if (!events_.empty()) news_.add(*this);
}

std::unique_ptr<Post> Tagged::make_post(void* owner, bool is_send) {
    auto post = spare_.empty() ? std::make_unique<Post>() : std::move(spare_.back());
    if (!spare_.empty()) spare_.pop_back();
    spare_.reserve(most_spare);
    post->owner = owner;
    post->is_send = is_send;
    post->transfer.emplace();
    return post;
}

void Tagged::keep(std::unique_ptr<Post> post) noexcept {
    post->request.reset();
    post->transfer.reset();
    if (spare_.size() < spare_.capacity()) spare_.push_back(std::move(post));
}

void Tagged::came(Arrival& arrival) {
    Event event{.kind = Event::Kind::Came, .peer = arrival.peer, .arrival = &arrival};
    event.tag = Slot::tag_of(arrival.slot);
    event.type = Slot::type_of(arrival.slot);
    event.bytes = arrival.length;
    add(std::move(event));
}

void Tagged::ended(Post& post) {
    Event event{.kind = Event::Kind::Ended, .peer = post.request->peer, .owner = post.owner};
    event.bytes = post.transfer->bytes;
    event.is_send = post.is_send;
    event.is_withdrawn = post.transfer->returned;
    event.status = post.transfer->status;
    ended_.emplace_back(&post);
    add(std::move(event));
}

void Tagged::left(int peer) {
    add({.kind = Event::Kind::Left, .peer = peer});
}

void Tagged::aborted(const Status& status) {
    add({.kind = Event::Kind::Aborted, .status = status});
}

void Tagged::add(Event event) {
    events_.push_back(std::move(event));
    news_.add(*this);
}

void Tagged::collect(std::vector<Event>& events) {
    if (events.empty()) {
        events.swap(events_);
    } else {
        std::ranges::move(events_, std::back_inserter(events));
        events_.clear();
    }
    for (auto& post : ended_) keep(std::move(post));
    ended_.clear();
}

}  // namespace tutti::tcp
