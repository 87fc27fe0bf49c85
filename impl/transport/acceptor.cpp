#include "acceptor.hpp"

#include <fcntl.h>

#include <utility>

#include "base/resource_limits.hpp"

namespace tutti {

Acceptor::Acceptor(net::Loop& loop, std::vector<int> listening, int any_descriptor, size_t bytes,
                   Events events)
    : loop_(loop), any_descriptor_(any_descriptor), bytes_(bytes), events_(std::move(events)) {
    listener_ = std::make_unique<net::Listener>(
        loop_, std::move(listening), [this](int descriptor) { accept(descriptor); },
        [this](const Status& exhaustion) { return free_descriptor(exhaustion); });
    keep_spare();
}

void Acceptor::accept(int descriptor) {
    const int id = ++last_incoming_;
    net::Stream::Events events;
    events.data = [this, id](std::span<const std::byte> bytes) { receive(id, bytes); };
    events.closed = [this, id](const Status&) {
        strangers_.remove(id);
        incoming_.erase(id);
    };
    incoming_[id].stream = net::Stream::adopt(loop_, descriptor, std::move(events));
    if (const auto oldest = strangers_.add(id)) incoming_.erase(*oldest);
    keep_spare();
}

void Acceptor::keep_spare() noexcept {
    if (spare_.valid()) return;
    spare_ = net::Descriptor(
        open_tracked([this] { return fcntl(any_descriptor_, F_DUPFD_CLOEXEC, 0); }));
}

// The caller may be a stranger, or a rank that waits for this one.
bool Acceptor::free_descriptor(const Status& exhaustion) {
    if (spare_.valid()) {
        spare_.reset();
        return true;
    }
    if (const auto oldest = strangers_.take_oldest()) {
        incoming_.erase(*oldest);
        return true;
    }
    events_.exhausted(exhaustion);
    return false;
}

// The caller is known before anything else is needed for it.
void Acceptor::receive(int incoming, std::span<const std::byte> bytes) {
    const auto found = incoming_.find(incoming);
    if (found == incoming_.end()) return;
    found->second.received.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (found->second.received.size() < bytes_) return;
    {
        const Incoming whole = std::move(found->second);
        incoming_.erase(found);
        strangers_.remove(incoming);
        events_.called(whole.received, *whole.stream);
    }
    keep_spare();
}

}  // namespace tutti
