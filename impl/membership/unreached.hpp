// Ranks that do not get through to rank 0 by its invitation at the store. It may be what an earlier
// group left there; so the store, which both reach, is also the way to ask whether that rank 0 is
// there. All is about one invitation, by its token. The caller's thread.
#pragma once

#include <chrono>
#include <optional>
#include <sstream>
#include <string>

#include "base/deadline.hpp"
#include "base/status.hpp"
#include "bootstrap.hpp"
#include "invitation.hpp"
#include "store/store.hpp"

namespace tutti::membership {

// The caller of rank 0 counts its calls in vain.
class CallsInVain {
public:
    explicit CallsInVain(const JoiningRank& caller) : caller_(caller) {}

    // Throws this failure when rank 0 is known to be there, and the network has refused all calls
    // for some seconds, or swallowed them for half a minute.
    void failed(const Invitation& invitation, const Status& why, const Deadline& deadline);

private:
    const JoiningRank& caller_;
    std::string token_;
    Deadline::Clock::time_point since_;
    bool is_refused_ = false;
    bool has_asked_ = false;
};

// Rank 0's answers.
class CallersInVain {
public:
    CallersInVain(Store& store, const Invitation& mine, int size);

    // To be called once in a while. Throws the failure of a rank that has given up, a little later
    // than it is known: others that do not get through hear that this rank is there.
    void answer(const Deadline& deadline);

private:
    Store& store_;
    const std::string token_;
    const int size_;
    bool has_answered_ = false;
    std::optional<Deadline> until_;  // a rank has given up
};

// The caller gives up before it is a member of the group to which rank 0 invites.
void tell_rank_0(const JoiningRank& caller, const Invitation& of, const Status& why) noexcept;

// A failure as text, and back; throws ABORTED for any other text.
std::string failure_text(int rank, const Status& why);
Status parse_failure(std::istringstream& text, int size);

}  // namespace tutti::membership
