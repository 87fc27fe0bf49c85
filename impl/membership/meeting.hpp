// How ranks find rank 0: it leaves an invitation at the store, they read it and knock at its
// addresses until one answers that proves to be rank 0. The invitation stays for the life of the
// group, so that a second process of some rank is told, not left waiting. Any thread.
#pragma once

#include <string>
#include <vector>

#include "base/deadline.hpp"
#include "invitation.hpp"
#include "net/socket.hpp"
#include "store/store.hpp"

namespace tutti::membership {

// A rank of a group that meets at this store.
struct Caller {
    Store& store;
    int rank = 0;
    int size = 1;
    std::string host;  // net::host_identity()
};

// In place of one whose rank 0 is gone. Throws INVALID_ARGUMENT if that one still answers.
void leave_invitation(const Caller& rank_0, const Invitation& mine, const Deadline& deadline);
// The next group on this store shall not take it for its own.
void withdraw_invitation(Store& store, const Invitation& mine) noexcept;

struct Found {
    net::Socket socket;  // rank 0 has said welcome on it
    Invitation invitation;
};
// Throws TIMEOUT if rank 0 does not come, INVALID_ARGUMENT if it refuses this process.
Found find_rank_0(const Caller& caller, const Deadline& deadline);

}  // namespace tutti::membership
