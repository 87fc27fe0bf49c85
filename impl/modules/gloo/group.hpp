// The backend on one rank of one group: collectives, each on its caller's thread, and messages. Any
// thread may call anything but the destructor.
#pragma once

#include <tutti/ext.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "collectives.hpp"
#include "connection.hpp"
#include "gate.hpp"
#include "messages.hpp"
#include "plain_messages.hpp"

namespace tutti::gloo_module {

class Group {
public:
    Group(const tutti_backend_place& place, const Settings& settings, Connection connection);
    ~Group();
    Group(const Group&) = delete;
    Group& operator=(const Group&) = delete;

    void post(const tutti_backend_call* call);
    void abort(const Failure& why) noexcept;
    void leave();
    int32_t cancel(const tutti_backend_call* call);

private:
    void run(const tutti_backend_call& call);
    [[nodiscard]] Failure settled(const Failure& failure, uint64_t sequence);
    [[nodiscard]] Failure left_before(uint64_t sequence) const;
    void has_left(int rank, uint64_t last);

    const Connection connection_;
    Gate collectives_gate_, messages_gate_;
    Collectives collectives_;

    mutable std::mutex mutex_;
    uint64_t running_ = 0;           // the sequence number of the collective under way; 0: none
    std::vector<int64_t> last_of_;   // the last collective of ranks that have left; else -1
    std::atomic<uint64_t> last_{0};  // that was posted

    // One of them is null.
    std::unique_ptr<Messages> messages_;
    std::unique_ptr<PlainMessages> plain_messages_;
};

}  // namespace tutti::gloo_module
