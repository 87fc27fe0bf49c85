// A job from its meeting to its exit code: attempts, each on all nodes, until one ends well or no
// restart is left. Main thread of the launcher.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "bootstrap.hpp"
#include "guard.hpp"
#include "logs.hpp"
#include "options.hpp"
#include "record_folder.hpp"
#include "signals.hpp"
#include "statement.hpp"
#include "supervisor.hpp"

namespace tutti::launch {

class Job {
public:
    // `inherited` is the launcher's own environment.
    Job(const Options& options, std::span<const char* const> inherited, SignalInbox& signals,
        const Guard& guard);

    // The exit code. Throws Interrupted while there are no ranks, and Errors of the meeting.
    int run();

private:
    void open_workers_store();
    void tell_ranks_of_end(int rank);
    Outcome run_attempt();
    Statement state(const Outcome& outcome) const;
    // The statements of all nodes but the lost one; fewer if they do not come in time.
    std::vector<Statement> gather(const Statement& own, const Verdict& verdict);
    int conclude(const Outcome& outcome, bool& again);
    void say_how_many(int succeeded, bool of_this_node);
    void leave(const Verdict& verdict);
    int code_with_output(int code);
    void flush();
    void say(const std::string& sentence);

    const Options& options_;
    const std::span<const char* const> inherited_;
    SignalInbox& signals_;
    const Guard& guard_;
    LineWriter writer_;
    RecordFolder records_;
    LogFolder logs_;  // outlives the threads of what follows
    BootstrapResult bootstrap_;
    std::set<int> lost_nodes_;                    // without which the others have gone on
    int told_of_end_in_ = -1;                     // the last attempt of which ranks were told
    std::unique_ptr<StoreServer> workers_store_;  // if it is not the meeting's
};

}  // namespace tutti::launch
