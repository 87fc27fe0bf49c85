// The loop: signals, output, endings. Main thread of the launcher.
#include "supervisor.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "base/error.hpp"
#include "process.hpp"

namespace tutti::launch {

namespace {

// After the first failure the others may say what they saw of it before they are ended.
constexpr int64_t last_words_ms = 1'000;

net::Descriptor open_nothing() {
    net::Descriptor nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!nothing.valid()) {
        const int fault = errno;
        throw Error(TUTTI_ERR_OUT_OF_MEMORY, cat("cannot open /dev/null: ", errno_text(fault)), -1,
                    fault);
    }
    return nothing;
}

}  // namespace

Supervisor::Supervisor(std::string program, const Options& options, SignalInbox& signals)
    : program_(std::move(program)), options_(options), signals_(signals) {}

Supervisor::~Supervisor() {
    for (auto& worker : workers_) {
        if (!worker.alive) continue;
        ::kill(-worker.pid, SIGKILL);
        ::waitpid(worker.pid, nullptr, 0);
    }
}

int Supervisor::run(const std::vector<WorkerPlan>& plans) {
    start(plans);
    while (anyone_alive()) wait_for_events();
    report_the_others();
    while (!writer_.empty()) wait_for_events();
    return exit_code();
}

void Supervisor::start(const std::vector<WorkerPlan>& plans) {
    const auto nothing = open_nothing();
    workers_.reserve(plans.size());
    for (const auto& plan : plans) {
        // A worker that reads a terminal from its own process group would be stopped.
        const bool reads = plan.rank == 0 && ::isatty(STDIN_FILENO) == 0;
        auto process = start_process(program_, options_.command, plan.environment,
                                     reads ? STDIN_FILENO : nothing.get());
        const auto prefix = cat("[rank ", plan.rank, "] ");
        workers_.push_back({plan.rank, process.pid,
                            LineReader(std::move(process.out), STDOUT_FILENO, prefix),
                            LineReader(std::move(process.err), STDERR_FILENO, prefix)});
    }
}

void Supervisor::wait_for_events() {
    std::vector<pollfd> entries{{signals_.descriptor(), POLLIN, 0}};
    std::vector<LineReader*> readers{nullptr};
    if (!writer_.empty()) {
        entries.push_back({writer_.descriptor(), POLLOUT, 0});
        readers.push_back(nullptr);
    }
    if (!writer_.full()) {
        for (auto& worker : workers_) {
            for (LineReader* reader : {&worker.out, &worker.err}) {
                if (!reader->open()) continue;
                entries.push_back({reader->descriptor(), POLLIN, 0});
                readers.push_back(reader);
            }
        }
    }
    // Interrupted or expired: entries are as they were, and what is due is looked at below.
    if (::poll(entries.data(), entries.size(), next_step_.poll_ms()) > 0) {
        for (size_t i = 1; i < entries.size(); ++i) {
            if (readers[i] != nullptr && entries[i].revents != 0) readers[i]->read_some(writer_);
        }
    }
    writer_.write_some();
    take_signals();
    if (next_step_.expired()) take_next_step();
}

void Supervisor::take_signals() {
    bool children_changed = false;
    pid_t first_dead = -1;
    while (const auto info = signals_.next()) {
        const int number = static_cast<int>(info->ssi_signo);
        if (number != SIGCHLD) {
            take_signal(number);
            continue;
        }
        children_changed = true;
        const bool died = info->ssi_code == CLD_EXITED || info->ssi_code == CLD_KILLED ||
                          info->ssi_code == CLD_DUMPED;
        if (died && first_dead < 0) first_dead = static_cast<pid_t>(info->ssi_pid);
    }
    if (!children_changed) return;
    notice_stops();
    collect_endings(first_dead);
}

void Supervisor::take_signal(int number) {
    if (!anyone_alive()) {  // only output is left, and whoever signals does not wait for it
        if (number != SIGPIPE) writer_.clear();
        return;
    }
    const bool impatient = number == SIGINT && std::exchange(interrupted_, true);
    if (phase_ == Phase::Running) job_signal_ = number;
    if (impatient) {
        say("interrupted again: killing the ranks");
        phase_ = Phase::Killing;
        next_step_ = Deadline::never();
        send(SIGKILL);
        return;
    }
    if (number == SIGPIPE) {
        number = SIGTERM;  // the ranks' own pipes are whole
    } else {
        say(cat("got ", signal_text(number), ", passed on to the ranks"));
    }
    send(number);
    if (phase_ == Phase::Running || phase_ == Phase::LastWords) {
        phase_ = Phase::Terminating;
        next_step_ = Deadline::after_ms(options_.shutdown_timeout_ms);
    }
}

// A stopped rank is no failure, but often the reason of those that follow.
void Supervisor::notice_stops() {
    for (auto& worker : workers_) {
        if (!worker.alive) continue;
        siginfo_t info = {};
        const int wanted = WSTOPPED | WCONTINUED | WNOHANG;
        while (::waitid(P_PID, static_cast<id_t>(worker.pid), &info, wanted) == 0 &&
               info.si_pid != 0) {
            worker.stopped_by = info.si_code == CLD_STOPPED ? info.si_status : 0;
            if (phase_ == Phase::Running) {
                say(cat(name(worker), worker.stopped_by == 0
                                          ? " goes on"
                                          : " is stopped by " + signal_text(worker.stopped_by)));
            }
            info = {};
        }
    }
}

void Supervisor::collect_endings(pid_t first_dead) {
    bool failed = false;
    for (auto& worker : workers_) {
        if (worker.alive && collect(worker)) failed = failed || worker.ending->failed();
    }
    if (failed && phase_ == Phase::Running) begin_ending(first_dead);
    const bool all_dead = std::none_of(suspects_.begin(), suspects_.end(),
                                       [&](size_t suspect) { return workers_[suspect].alive; });
    if (all_dead) name_the_first();
}

// True if the worker has ended.
bool Supervisor::collect(Worker& worker) {
    siginfo_t info = {};
    const auto id = static_cast<id_t>(worker.pid);
    if (::waitid(P_PID, id, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) {
        return false;
    }
    // Its process group ends with it; until it is reaped the number is surely its own.
    ::kill(-worker.pid, SIGKILL);
    ::waitid(P_PID, id, &info, WEXITED);
    worker.alive = false;
    worker.ending = Ending{info.si_code != CLD_EXITED, info.si_status, info.si_code == CLD_DUMPED};
    worker.out.drain(writer_);
    worker.err.drain(writer_);
    return true;
}

// A process that dies closes its connections a moment before its parent can see it dead, so those
// that fail because of it may be seen first: whoever is dying now is a suspect, too.
void Supervisor::begin_ending(pid_t first_dead) {
    for (size_t i = 0; i < workers_.size(); ++i) {
        const Worker& worker = workers_[i];
        const bool suspect = worker.alive ? is_exiting(worker.pid) : worker.ending->failed();
        if (suspect) suspects_.push_back(i);
    }
    first_dead_ = first_dead;
    phase_ = Phase::LastWords;
    next_step_ = Deadline::after_ms(last_words_ms);
}

// Of the suspects, one that a signal killed is the cause of the others' failures (an abort may be a
// program's own answer to a failure, like an exit, and comes second); else the one whose death was
// signalled first.
void Supervisor::name_the_first() {
    const auto order = [&](const Worker& worker) {
        const bool by_signal = worker.ending->by_signal;
        const int kind = by_signal ? (worker.ending->number == SIGABRT ? 1 : 0) : 2;
        return std::pair(kind, worker.pid != first_dead_);
    };
    if (first_) return;
    for (const size_t suspect : suspects_) {
        const Worker& worker = workers_[suspect];
        if (worker.alive || !worker.ending->failed()) continue;
        if (!first_ || order(worker) < order(workers_[*first_])) first_ = suspect;
    }
    if (!first_) return;
    const Worker& first = workers_[*first_];
    say(cat(name(first), " ", describe(*first.ending), ": ", options_.command.front()));
    for (const auto& worker : workers_) {
        if (worker.alive && worker.stopped_by != 0) {
            say(cat(name(worker), " had been stopped by ", signal_text(worker.stopped_by)));
        }
    }
}

void Supervisor::take_next_step() {
    if (phase_ == Phase::LastWords) {
        name_the_first();
        phase_ = Phase::Terminating;
        next_step_ = Deadline::after_ms(options_.shutdown_timeout_ms);
        send(SIGTERM);
        return;
    }
    phase_ = Phase::Killing;
    next_step_ = Deadline::never();
    send(SIGKILL);
}

void Supervisor::send(int number) {
    for (auto& worker : workers_) {
        if (!worker.alive) continue;
        worker.passed.push_back(number);
        ::kill(-worker.pid, number);
        ::kill(-worker.pid, SIGCONT);  // a stopped process takes no signal but SIGKILL
    }
}

// Ranks that a signal of ours ended have not failed.
void Supervisor::report_the_others() {
    for (size_t i = 0; i < workers_.size(); ++i) {
        const Worker& worker = workers_[i];
        const Ending& ending = *worker.ending;
        if (first_ == i || !ending.failed()) continue;
        const auto& passed = worker.passed;
        const bool ours = ending.by_signal &&
                          std::find(passed.begin(), passed.end(), ending.number) != passed.end();
        if (!ours) {
            say(cat(name(worker), " ", describe(ending), " afterwards"));
        } else if (ending.number == SIGKILL) {
            say(cat(name(worker), " had to be killed"));
        }
    }
}

void Supervisor::say(const std::string& sentence) {
    writer_.push(STDERR_FILENO, cat("tuttirun: ", sentence, "\n"));
}

bool Supervisor::anyone_alive() const {
    return std::any_of(workers_.begin(), workers_.end(),
                       [](const Worker& worker) { return worker.alive; });
}

std::string Supervisor::name(const Worker& worker) const {
    return cat("rank ", worker.rank, " (pid ", static_cast<int>(worker.pid), ")");
}

int Supervisor::exit_code() const {
    if (first_) return workers_[*first_].ending->exit_code();
    return job_signal_ == 0 ? 0 : 128 + job_signal_;
}

}  // namespace tutti::launch
