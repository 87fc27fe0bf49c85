#include "connecting.hpp"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "base/resource_limits.hpp"
#include "progress/pauses.hpp"
#include "wait.hpp"

namespace tutti::net {

namespace {

// The time that an address gets before the next one is tried beside it.
constexpr int64_t head_start_ms = 100;
// With several addresses a round ends after this, and another one resolves the name anew.
constexpr int64_t max_round_ms = 5'000;

bool may_pass(int number) {
    switch (number) {
        case ECONNREFUSED:
        case ECONNRESET:
        case ECONNABORTED:
        case ETIMEDOUT:
        case EHOSTUNREACH:
        case ENETUNREACH:
        case EHOSTDOWN:
        case ENETDOWN:
        case EADDRNOTAVAIL:
        case EAGAIN:
            return true;
        default:
            return false;
    }
}

// A connect to a free port of this machine can meet itself: the kernel picks that very port for the
// near end. Such a connection would also keep the real server from binding.
bool connected_to_itself(int fd) {
    const Address local = local_address_of(fd);
    Address remote;
    if (getpeername(fd, remote.get(), &remote.size) != 0) return false;
    return local.port() == remote.port() && local.host() == remote.host();
}

class Race {
public:
    Race(std::span<const Address> addresses, const Deadline& deadline, int cancel_fd,
         const std::string& what, Attempts& attempts, const Address* from)
        : addresses_(addresses),
          deadline_(deadline),
          cancel_fd_(cancel_fd),
          what_(what),
          attempts_(attempts),
          from_(from) {}

    Descriptor run() {
        for (;;) {
            if (next_ < addresses_.size() && (running_.empty() || head_start_.expired())) {
                start(addresses_[next_++]);
                head_start_ = Deadline::after_ms(head_start_ms);
            } else if (!running_.empty() && !lost_.empty() && again_.expired()) {
                for (const Address* address : std::exchange(lost_, {})) start(*address);
            } else if (running_.empty() || !await()) {
                return {};
            }
            if (winner_.valid()) return std::move(winner_);
        }
    }

private:
    struct Running {
        const Address* address;
        Descriptor descriptor;
    };

    void start(const Address& address) {
        Descriptor fd(open_tracked([&] {
            return ::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        }));
        if (!fd.valid()) return cannot_start(address, errno);
        if (from_ != nullptr && ::bind(fd.get(), from_->get(), from_->size) != 0) {
            cannot_start(address, errno);
        } else if (::connect(fd.get(), address.get(), address.size) == 0) {
            win(address, std::move(fd));
        } else if (errno == EINPROGRESS || errno == EINTR) {
            running_.push_back({&address, std::move(fd)});
        } else {
            cannot_start(address, errno);
        }
    }

    // A limit that this process has reached stops every address, and waiting does not help.
    void cannot_start(const Address& address, int number) {
        if (running_.empty() && is_exhaustion(number))
            throw system_error(TUTTI_ERR_NETWORK, what_, number);
        lose(address, number);
    }

    // False if the time is up.
    bool await() {
        Deadline until = deadline_;
        if (next_ < addresses_.size()) until = until.or_earlier(head_start_);
        if (!lost_.empty()) until = until.or_earlier(again_);
        std::vector<pollfd> entries;
        for (const Running& one : running_) entries.push_back({one.descriptor.get(), POLLOUT, 0});
        entries.push_back({cancel_fd_, POLLIN, 0});
        const int count = ::poll(entries.data(), entries.size(), until.poll_ms());
        if (count < 0 && errno != EINTR) {
            throw system_error(TUTTI_ERR_NETWORK, "poll failed", errno);
        }
        if (count > 0 && entries.back().revents != 0) fail_cancelled(what_);
        if (count > 0) {
            for (size_t index = running_.size(); index-- > 0;) {
                if (entries[index].revents != 0) finish(index);
            }
        } else if (deadline_.expired()) {
            for (const Running& one : running_) lose(*one.address, ETIMEDOUT);
            return false;
        }
        return true;
    }

    void finish(size_t index) {
        Running one = std::move(running_[index]);
        running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(index));
        int number = 0;
        socklen_t size = sizeof number;
        if (getsockopt(one.descriptor.get(), SOL_SOCKET, SO_ERROR, &number, &size) != 0) {
            number = errno;
        }
        if (number != 0) return lose(*one.address, number);
        win(*one.address, std::move(one.descriptor));
    }

    void win(const Address& address, Descriptor fd) {
        if (connected_to_itself(fd.get())) return lose(address, ECONNREFUSED);
        winner_ = std::move(fd);
    }

    void lose(const Address& address, int number) {
        note(attempts_, cat(address.host(), ": ", errno_text(number)));
        attempts_.last_errno = number;
        if (!may_pass(number)) return;
        attempts_.again = true;
        // One that never answers shall not keep us from the one where somebody will soon listen.
        if (lost_.empty()) {
            again_ = Deadline::at(Deadline::Clock::now() + pauses_.next());
        }
        lost_.push_back(&address);
    }

    const std::span<const Address> addresses_;
    const Deadline deadline_;
    const int cancel_fd_;
    const std::string& what_;
    Attempts& attempts_;
    const Address* const from_;
    size_t next_ = 0;
    Deadline head_start_ = Deadline::never();  // of the one started last
    std::vector<Running> running_;
    std::vector<const Address*> lost_;  // to be tried again as long as others are under way
    Deadline again_ = Deadline::never();
    Pauses pauses_ = Pauses::between_calls();
    Descriptor winner_;
};

}  // namespace

// An address that says nothing is lost last, when the time is up.
bool is_refusal(int number) {
    return number != 0 && number != ETIMEDOUT;
}

void note(Attempts& attempts, std::string reason) {
    auto& reasons = attempts.reasons;
    if (std::ranges::find(reasons, reason) == reasons.end()) reasons.push_back(std::move(reason));
}

std::string reasons_of(const Attempts& attempts) {
    std::string out;
    for (const std::string& one : attempts.reasons) out += cat(out.empty() ? "" : "; ", one);
    return out;
}

Descriptor connect_once(std::span<const Address> addresses, const Deadline& deadline, int cancel_fd,
                        const std::string& what, Attempts& attempts, const Address* from) {
    return Race(addresses, deadline, cancel_fd, what, attempts, from).run();
}

Descriptor connect_patiently(const Resolve& resolve, const Deadline& deadline, int cancel_fd,
                             const std::string& what, const Deadline& refused_until) {
    Attempts attempts;
    Pauses pauses = Pauses::between_calls();
    while (true) {
        attempts.again = false;
        const std::vector<Address> addresses = resolve(attempts);
        const Deadline round = addresses.size() == 1
                                   ? deadline
                                   : deadline.or_earlier(Deadline::after_ms(max_round_ms));
        Descriptor fd = connect_once(addresses, round, cancel_fd, what, attempts);
        if (fd.valid()) return fd;
        if (!attempts.again || deadline.expired()) break;
        if (refused_until.expired() && is_refusal(attempts.last_errno)) break;
        const auto next = Deadline::at(Deadline::Clock::now() + pauses.next());
        const Deadline pause = deadline.or_earlier(next);
        if (wait_descriptor(-1, 0, pause, cancel_fd) == Waited::Cancelled) fail_cancelled(what);
        if (deadline.expired()) break;
    }
    throw Error(TUTTI_ERR_NETWORK,
                cat(what, attempts.again ? ": no success in time (" : " failed (",
                    reasons_of(attempts), ")"),
                -1, attempts.last_errno);
}

}  // namespace tutti::net
