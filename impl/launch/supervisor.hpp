// One attempt on one node: starts the workers of a plan, relays their output, passes signals on,
// and when one fails, here or on another node, says which was first, and ends the others unless
// they go on (--on-failure shrink). One poll loop, main thread of the launcher.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.hpp"
#include "failure.hpp"
#include "guard.hpp"
#include "options.hpp"
#include "output.hpp"
#include "plan.hpp"
#include "process.hpp"
#include "reasons.hpp"
#include "signals.hpp"
#include "watch.hpp"
#include "worker.hpp"

namespace tutti::launch {

// How an attempt ended on this node.
struct Outcome {
    Verdict verdict;
    // The failures on this node, the first at the front; more only where the others go on. Their
    // node and host are not set.
    std::vector<Failure> failures = {};
    int signal = 0;     // that this tuttirun got
    int succeeded = 0;  // ranks of this node that ended with 0
};

class Supervisor {
public:
    // Standard input goes to rank 0 unless it is a terminal.
    // `ended` hears of every rank that ends and ends no others with it, when nothing of it is left.
    // There is an executable for each program of the options.
    Supervisor(std::vector<Executable> executables, const Options& options, SignalInbox& signals,
               const Guard& guard, Watch& watch, LineWriter& writer, Reasons reasons,
               std::function<void(int rank)> ended);
    Supervisor(const Supervisor&) = delete;
    Supervisor& operator=(const Supervisor&) = delete;
    ~Supervisor();  // nothing that it started lives on

    // Runs all to their end, on all nodes. An Error if a worker cannot be started. Output may be
    // left in the writer.
    Outcome run(const std::vector<WorkerPlan>& plans);

private:
    // How far the job's ending has come.
    enum class Phase { Running, LastWords, Terminating, Killing };

    void start(const std::vector<WorkerPlan>& plans);
    Worker start_worker(const WorkerPlan& plan, int nothing);
    [[nodiscard]] LineReader make_reader(const WorkerPlan& plan, int stream) const;
    void wait_for_events();
    void take_signals();
    void take_signal(int number);
    void pass_on(int number);
    void notice_stops();
    void collect_endings(pid_t first_dead);
    bool collect(Worker& worker);
    void look_at_what_is_left();
    void reap_adopted();
    void suspect(pid_t first_dead);
    void name_the_first();
    void tell_later_failures();
    void say_failure(Worker& worker);
    void take_news();
    void take_verdict();
    void take_next_step();
    void terminate(int number);
    void send(int number);
    void report_the_others();
    void say_why();
    void say(const std::string& sentence);

    [[nodiscard]] bool go_on() const { return goes_on(options_); }
    [[nodiscard]] bool anyone_alive() const;
    [[nodiscard]] bool anything_left() const;
    [[nodiscard]] Deadline next_look() const;
    [[nodiscard]] Outcome outcome() const;
    [[nodiscard]] Failure failure_to_report(const Worker& worker) const;

    const std::vector<Executable> executables_;  // of the programs
    const Options& options_;
    SignalInbox& signals_;
    const Guard& guard_;
    Watch& watch_;
    const std::function<void(int rank)> ended_;
    LineWriter& writer_;
    Reasons reasons_;
    std::vector<Worker> workers_;
    bool verdict_taken_ = false;
    Phase phase_ = Phase::Running;
    Deadline next_step_ = Deadline::never();
    bool interrupted_ = false;
    int job_signal_ = 0;                // the first that we got
    std::vector<size_t> suspects_;      // workers dead or dying when a failure was first seen
    pid_t first_dead_ = -1;             // whose death was signalled first then
    std::optional<size_t> first_ = {};  // index of the worker that failed first
};

}  // namespace tutti::launch
