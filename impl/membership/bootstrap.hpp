// The ranks' search for the coordinator. Rank 0 leaves an invitation at the store; the others read
// it and knock at its addresses until one answers that proves to be it. The invitation stays for
// the life of the group, so that a second process of some rank is told, not left waiting. Any
// thread.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/deadline.hpp"
#include "invitation.hpp"
#include "net/socket.hpp"
#include "store/store.hpp"

namespace tutti::membership {

// A rank of a group that bootstraps at this store.
struct JoiningRank {
    Store& store;
    int rank = 0;
    int size = 1;
    std::string host;  // net::host_identity()
};

// Replaces an invitation whose rank 0 is gone. Throws INVALID_ARGUMENT if that rank 0 still
// answers.
void publish_invitation(const JoiningRank& rank_0, const Invitation& mine,
                        const Deadline& deadline);
// So that the next group on this store does not take it for its own.
void withdraw_invitation(Store& store, const Invitation& mine) noexcept;

struct Rank0Connection {
    net::Socket socket;  // the coordinator has said welcome on it
    Invitation invitation;
};
// Finds rank 0, or the coordinator that is known to be there in its place. Throws TIMEOUT if rank 0
// does not come, INVALID_ARGUMENT if the coordinator refuses this process, NETWORK if rank 0 is
// there, but the network refuses all calls, or has swallowed them for half a minute.
Rank0Connection find_coordinator(const JoiningRank& caller, const std::optional<Invitation>& known,
                                 const Deadline& deadline);
// To the ranks that still meet at this store, which no other group ever uses: not all will come.
void tell_failure(Store& store, int rank, const Status& why) noexcept;
// Where this process serves the store: waits a little until the others have heard of it.
void stay_to_tell(Store& store, int rank, int size) noexcept;
void have_heard(Store& store, int rank) noexcept;
// Waits in slices, and looks between them whether a rank has told of its failure, or the launcher
// has seen one of the job end: then not all will come. `wait` is false as long as it waits in vain.
// Returns what it said last; throws the failure, or PEER_LOST if a rank has ended.
bool wait_for_ranks(const JoiningRank& caller, const Deadline& deadline,
                    const std::function<bool(const Deadline&)>& wait);
// In sentences: "rank 0", "the coordinator".
std::string name_of_coordinator(int rank);

}  // namespace tutti::membership
