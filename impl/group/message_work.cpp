#include "message_work.hpp"

#include "base/error.hpp"
#include "call/message.hpp"

namespace tutti {

GroupCore* MessageDoor::enter(std::optional<InFlight>& entry, const char* operation) {
    const Lock lock(mutex_);
    if (group_ == nullptr) return nullptr;
    try {
        entry.emplace(group_->life, operation, InFlight::Of::Any);
    } catch (const Error&) {  // it is being destroyed
        return nullptr;
    }
    return group_;
}

void MessageDoor::close() noexcept {
    const Lock lock(mutex_);
    group_ = nullptr;
}

std::string MessageWork::What::text(const char* operation) const {
    const std::string rank = peer == any_source ? "any rank" : cat("rank ", peer);
    const std::string name = tag_name.empty() ? std::string() : cat(" \"", tag_name, "\"");
    return cat(operation, sends ? " to " : " from ", rank, " (tag ", tag, ")", name);
}

void MessageWork::failure_is_known() const noexcept {
    with_group([](GroupCore& group) { group.membership->message_failed(); });
}

std::optional<bool> ReceiveWork::cancel() {
    const auto moving = moving_.lock();
    bool cancelled = false;
    if (is_delivered_ && !moving) return cancelled;
    with_group([&](GroupCore& group) {
        if (group.life.end()) return;  // then it has no receive that waits
        cancelled = group.backends.cancel(moving ? *moving : *this);
    });
    return cancelled;
}

}  // namespace tutti
