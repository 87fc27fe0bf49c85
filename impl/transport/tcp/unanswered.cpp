#include "unanswered.hpp"

#include "mailbox.hpp"

namespace tutti::tcp {

namespace {

Unanswered::Stream stream_of(const Request& request) {
    return {request.mailbox.group(), request.slot.value()};
}

}  // namespace

uint32_t Unanswered::next_id() {
    if (++last_id_ == 0) ++last_id_;
    return last_id_;
}

void Unanswered::add(uint32_t id, Request& request, bool is_offer) {
    const Stream stream = stream_of(request);
    const Message message{&request, is_offer, stream};
    if (spare_.empty()) {
        messages_[id] = message;
    } else {
        auto node = std::move(spare_.back());
        spare_.pop_back();
        node.key() = id;
        node.mapped() = message;
        messages_.insert(std::move(node));
    }
    request.untaken = id;
    if (is_offer && request.slot.is_announcement()) ++offers_[stream];
}

bool Unanswered::has_offer_before(const Request& send) const {
    return !offers_.empty() && offers_.contains(stream_of(send));
}

Unanswered::Message* Unanswered::find(uint32_t id) {
    const auto found = messages_.find(id);
    return found == messages_.end() ? nullptr : &found->second;
}

Unanswered::Message* Unanswered::find(const Request& request) {
    Message* const found = find(request.untaken);
    return found != nullptr && found->request == &request ? found : nullptr;
}

Request* Unanswered::extract(uint32_t id) {
    const auto message = messages_.find(id);
    Request* const request = message->second.request;
    if (const auto stream = offers_.find(message->second.stream);
        message->second.is_offer && stream != offers_.end() && --stream->second == 0) {
        offers_.erase(stream);
    }
    remove(message);
    if (request == nullptr) return nullptr;
    request->link = nullptr;
    request->untaken = 0;
    return request;
}

void Unanswered::answer_early(uint32_t id) {
    const auto message = messages_.find(id);
    message->second.request->untaken = 0;
    remove(message);
}

void Unanswered::remove(std::map<uint32_t, Message>::iterator message) {
    if (spare_.size() == most_spare) {
        messages_.erase(message);
    } else {
        spare_.push_back(messages_.extract(message));
    }
}

void Unanswered::forget(const Request& request) noexcept {
    if (Message* const message = find(request)) message->request = nullptr;
}

void Unanswered::clear() noexcept {
    for (const auto& [id, message] : messages_) {
        if (message.request != nullptr) message.request->lose_link();
    }
    messages_.clear();
    offers_.clear();
}

}  // namespace tutti::tcp
