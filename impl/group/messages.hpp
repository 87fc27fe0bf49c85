// The messages of a group between two ranks, and batches of them, on the caller's thread or in the
// background. They take no turns. Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "call/message.hpp"
#include "core.hpp"
#include "memory/held_memory.hpp"
#include "message_work.hpp"
#include "work/work.hpp"

namespace tutti {

class GroupMessages {
public:
    explicit GroupMessages(GroupCore& group)
        : group_(group), door_(std::make_shared<MessageDoor>(group)) {}

    // See Group.
    void run(const Send& call, int64_t timeout_ms);
    int run(const Receive& call, int64_t timeout_ms);
    std::shared_ptr<Work> start(const Send& call, int64_t timeout_ms);
    std::shared_ptr<Work> start(const Receive& call, int64_t timeout_ms);
    std::shared_ptr<Work> start(const Receive& call, int64_t timeout_ms,
                                std::function<void()> deliver);

    // message_batches.cpp
    void run(std::span<const Message> batch, int64_t timeout_ms);
    std::vector<std::shared_ptr<Work>> start(std::span<const Message> batch, int64_t timeout_ms);

    // The group is destroyed: works do not enter it any more.
    void close() noexcept { door_->close(); }

private:
    // Call: Send or Receive, for which messages.cpp has these.
    template <typename Call>
    void check_message(const Call& call) const;
    // The work that is on the stream by now comes before the message, unless an earlier call has
    // recorded it.
    template <typename Call>
    [[nodiscard]] Call entered(const Call& call) const;
    // The backend that moves it. No send passes one that was started before and waits for a device.
    template <typename Call>
    [[nodiscard]] Backend& mover_of(const Call& call) const;
    template <typename Call>
    [[nodiscard]] std::shared_ptr<MessageWork> work_of(const Call& call, Backend& mover,
                                                       const CallSpan& span);
    template <typename Call>
    std::shared_ptr<Work> start_message(const Call& call, const CallSpan& span);
    // The exception in flight, as a failure of the call.
    template <typename Call>
    [[noreturn]] void rethrow(const Call& call) const;

    template <typename Call, typename Act>
    void with_context(const Call& call, Act&& act) const {
        try {
            act();
        } catch (...) {
            rethrow(call);
        }
    }
    template <typename Call>
    int await_message(const Call& call, int64_t timeout_ms);
    template <typename Call, typename Run>
    int run_message(const Call& call, Run&& run, int64_t timeout_ms);
    template <typename Call>
    void start_message(const Call& call, Backend& mover, const Deadline& until,
                       const std::shared_ptr<Work>& work);
    std::shared_ptr<Work> start_landing(const Receive& call, const CallSpan& span);

    void check_batch(std::span<const Message> batch) const;
    [[nodiscard]] Backend* mover_of_all(std::span<const Message> batch) const;
    bool run_here(std::span<const Message> batch, int64_t timeout_ms);
    std::vector<std::shared_ptr<Work>> start_here(std::span<const Message> batch, Backend& mover,
                                                  const CallSpan& span);

    GroupCore& group_;
    const MessageWork::Door door_;
};

// Whether nothing can be on a stream before it, or an earlier call has recorded that.
template <typename Call>
bool has_entered(const Call& call) {
    const bool has_stream = call.buffer.device.type != TUTTI_CPU || call.stream != nullptr;
    return call.begun || !has_stream;
}

template <typename Call>
MemoryUse memory_of_message(const Call& call) {
    MemoryUse use;
    use.add(call.buffer.data);
    return use;
}

}  // namespace tutti
