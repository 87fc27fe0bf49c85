// The rendezvous of tuttiruns of several nodes: one serves a store at the endpoint, all claim a
// rank there, and each learns of the others. Main thread of the launcher.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "options.hpp"
#include "plan.hpp"
#include "signals.hpp"
#include "store/store.hpp"

namespace tutti::launch {

struct BootstrapResult {
    std::shared_ptr<Store> store;  // the launchers' keys
    bool serves = true;            // the store ends with this process
    int port = 0;                  // of the store; 0: a job of one node, whose store is no server
    Placement placement;           // without the workers' store, and at attempt 0
};

// `say` gets progress for a person who starts the nodes by hand. TIMEOUT says how many of how many
// nodes are there. Throws Interrupted.
BootstrapResult bootstrap_nodes(const Options& options, SignalInbox& signals,
                                const std::function<void(const std::string& sentence)>& say);

}  // namespace tutti::launch
