// Connecting to the first of several addresses that answers: private to net/. Any thread.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "address.hpp"
#include "base/deadline.hpp"
#include "descriptor.hpp"

namespace tutti::net {

// The results of the attempts so far.
struct Attempts {
    std::vector<std::string> reasons;  // "10.0.0.1: Connection refused (ECONNREFUSED)"
    int last_errno = 0;
    bool again = false;  // something of the last round may pass
};

// One attempt at each address. Each begins when the one before has failed or has had its head
// start, so an address that swallows packets delays the others by no more than that. Nothing if
// none answers by the deadline; throws ABORTED, saying `what`, when `cancel_fd` became readable,
// OUT_OF_MEMORY if this process has no descriptor for a socket. `from`: the near end, if it is not
// the system's choice.
Descriptor connect_once(std::span<const Address> addresses, const Deadline& deadline, int cancel_fd,
                        const std::string& what, Attempts& attempts, const Address* from = nullptr);

// Rounds of that with back-off, while the failures may pass, until the deadline. `resolve` gives
// the addresses of each round, and notes what it could not resolve but may later. Throws NETWORK
// with all reasons. What is refused by all addresses until `refused_until` is so for good.
using Resolve = std::function<std::vector<Address>(Attempts&)>;
Descriptor connect_patiently(const Resolve& resolve, const Deadline& deadline, int cancel_fd,
                             const std::string& what,
                             const Deadline& refused_until = Deadline::never());

void note(Attempts& attempts, std::string reason);
std::string reasons_of(const Attempts& attempts);

}  // namespace tutti::net
