#include "direct.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "control/stalls.hpp"

namespace tutti::shm {

void Direct::show(const void* data) {
    const auto address = reinterpret_cast<uint64_t>(data);
    std::memcpy(team_.stage(step_, sizeof address).data(), &address, sizeof address);
    team_.post(step_);
}

void Direct::find(int peer) {
    uint64_t& address = where_[static_cast<size_t>(peer)];
    std::memcpy(&address, team_.await(peer, step_, sizeof address).data(), sizeof address);
}

bool Direct::find_all() {
    for (int peer = 0; peer < team_.size(); ++peer) find(peer);
    const auto all = std::span(where_).first(static_cast<size_t>(team_.size()));
    if (std::ranges::find(all, 0U) == all.end()) return true;
    team_.finish(step_, sizeof(uint64_t));
    return false;
}

void Direct::read(int peer, size_t offset, Bytes into) const {
    if (read_memory(team_.process(peer), where_[static_cast<size_t>(peer)] + offset, into)) return;
    const int why = errno;
    team_.await_trouble(peer, Deadline::after_ms(2 * control::stall_ms));
    const int owner = team_.group_rank(peer);
    throw Error(TUTTI_ERR_BACKEND,
                cat("the system does not let this rank read the data of rank ", owner,
                    "; with TUTTI_SHM_ALGORITHMS it need not"),
                owner, why);
}

void Direct::finish() {
    const uint64_t done = team_.take(1);
    (void)team_.stage(done, 0);
    team_.post(done);
    team_.finish(done, 0);
}

void Direct::finish_unread() {
    const uint64_t done = team_.take(1);
    for (int peer = 0; peer < team_.size(); ++peer) {
        if (peer != team_.rank()) team_.await(peer, done);
    }
    team_.finish(done, 0);
}

void Direct::finish_together() {
    const uint64_t done = team_.take(1);
    (void)team_.stage(done, 0);
    team_.post(done);
    team_.await_all(done);
    team_.finish(done, 0);
}

}  // namespace tutti::shm
