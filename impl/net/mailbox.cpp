// Names are of the abstract kind: they end with the socket, and no file is left behind.
#include "mailbox.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <utility>

#include "descriptor.hpp"
#include "readable.hpp"

namespace tutti::net {

namespace {

constexpr size_t max_note = 64;
constexpr socklen_t nameless = offsetof(sockaddr_un, sun_path);

sockaddr* generic(sockaddr_un& address) {
    return reinterpret_cast<sockaddr*>(&address);
}

}  // namespace

struct Mailbox::Core {
    std::string name;
    std::function<void(std::string_view)> received;
    std::shared_ptr<Readable> socket;

    // One: if there are more, it is called again, unless the mailbox has gone meanwhile.
    void read() const {
        char note[max_note];
        const ssize_t size = ::recv(socket->descriptor.get(), note, sizeof note, MSG_DONTWAIT);
        if (size >= 0) received({note, static_cast<size_t>(size)});
    }
};

Mailbox::Mailbox(Loop& loop, std::function<void(std::string_view)> received)
    : core_(std::make_unique<Core>()) {
    core_->received = std::move(received);
    Descriptor socket(open_tracked(
        [] { return ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); }));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    socklen_t size = sizeof address;
    if (!socket.valid() || ::bind(socket.get(), generic(address), sizeof address.sun_family) != 0 ||
        ::getsockname(socket.get(), generic(address), &size) != 0) {
        throw system_error(TUTTI_ERR_NETWORK, "making a mailbox", errno);
    }
    // Behind the zero that makes it abstract.
    core_->name.assign(address.sun_path + 1, size > nameless ? size - nameless - 1 : 0);
    core_->socket = Readable::make(
        loop, std::move(socket), [core = core_.get()] { core->read(); }, "making a mailbox");
}

Mailbox::~Mailbox() {
    core_->socket->close();
}

const std::string& Mailbox::name() const {
    return core_->name;
}

bool Mailbox::send(const std::string& name, std::string_view note) const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (name.empty() || name.size() >= sizeof address.sun_path - 1) return false;
    std::copy(name.begin(), name.end(), address.sun_path + 1);
    const auto size = static_cast<socklen_t>(nameless + 1 + name.size());
    const ssize_t sent = ::sendto(core_->socket->descriptor.get(), note.data(), note.size(),
                                  MSG_DONTWAIT | MSG_NOSIGNAL, generic(address), size);
    return sent >= 0 || errno == EAGAIN || errno == ENOBUFS;
}

}  // namespace tutti::net
