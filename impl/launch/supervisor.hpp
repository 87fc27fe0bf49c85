// Starts the workers of a plan, relays their output, passes signals on, and when one fails ends
// the others and says which was first. One poll loop, main thread of the launcher.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/deadline.hpp"
#include "ending.hpp"
#include "options.hpp"
#include "output.hpp"
#include "plan.hpp"
#include "signals.hpp"

namespace tutti::launch {

class Supervisor {
public:
    // Standard input goes to rank 0 unless it is a terminal.
    Supervisor(std::string program, const Options& options, SignalInbox& signals);
    Supervisor(const Supervisor&) = delete;
    Supervisor& operator=(const Supervisor&) = delete;
    ~Supervisor();  // nothing that it started lives on

    // Runs all to their end. The exit code of the job: 0, that of the first failure, or 128 + the
    // signal that ended the job. An Error if a worker cannot be started.
    int run(const std::vector<WorkerPlan>& plans);

private:
    // How far the job's ending has come.
    enum class Phase { Running, LastWords, Terminating, Killing };

    struct Worker {
        int rank;
        pid_t pid;
        LineReader out;
        LineReader err;
        bool alive = true;
        int stopped_by = 0;            // signal, or 0
        std::vector<int> passed = {};  // signals it had from us
        std::optional<Ending> ending = {};
    };

    void start(const std::vector<WorkerPlan>& plans);
    void wait_for_events();
    void take_signals();
    void take_signal(int number);
    void notice_stops();
    void collect_endings(pid_t first_dead);
    bool collect(Worker& worker);
    void begin_ending(pid_t first_dead);
    void name_the_first();
    void take_next_step();
    void send(int number);
    void report_the_others();
    void say(const std::string& sentence);

    [[nodiscard]] bool anyone_alive() const;
    [[nodiscard]] std::string name(const Worker& worker) const;
    [[nodiscard]] int exit_code() const;

    const std::string program_;  // a path
    const Options& options_;
    SignalInbox& signals_;
    std::vector<Worker> workers_;
    LineWriter writer_;
    Phase phase_ = Phase::Running;
    Deadline next_step_ = Deadline::never();
    bool interrupted_ = false;
    int job_signal_ = 0;                // what ended the job, if a signal to us did
    std::vector<size_t> suspects_;      // workers dead or dying when a failure was first seen
    pid_t first_dead_ = -1;             // whose death was signalled first then
    std::optional<size_t> first_ = {};  // index of the worker that failed first
};

}  // namespace tutti::launch
