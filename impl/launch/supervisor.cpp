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

#include "base/resource_limits.hpp"
#include "limits.hpp"
#include "logs.hpp"

namespace tutti::launch {

namespace {

// After the first failure the others may say what they saw of it before they are ended.
constexpr int64_t last_words_ms = 1'000;
// Processes below a rank may end unseen.
constexpr int64_t look_ms = 50;
// A process that was killed is gone soon, unless it hangs in the kernel or is a zombie that no
// process takes.
constexpr int64_t killed_ms = 1'000;

net::Descriptor open_nothing() {
    net::Descriptor nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!nothing.valid()) {
        throw system_error(TUTTI_ERR_OUT_OF_MEMORY, "cannot open /dev/null", errno);
    }
    return nothing;
}

}  // namespace

Supervisor::Supervisor(std::vector<Executable> executables, const Options& options,
                       SignalInbox& signals, const Guard& guard, Watch& watch, LineWriter& writer,
                       Reasons reasons, std::function<void(int rank)> ended)
    : executables_(std::move(executables)),
      options_(options),
      signals_(signals),
      guard_(guard),
      watch_(watch),
      ended_(std::move(ended)),
      writer_(writer),
      reasons_(std::move(reasons)) {}

Supervisor::~Supervisor() {
    for (auto& worker : workers_) {
        if (!worker.alive && !worker.leaves) continue;
        ::kill(-worker.pid, SIGKILL);
        if (worker.alive) ::waitpid(worker.pid, nullptr, 0);
        guard_.remove(worker.pid);
    }
}

Outcome Supervisor::run(const std::vector<WorkerPlan>& plans) {
    start(plans);
    while (anything_left()) wait_for_events();
    if (first_) say_why();
    report_the_others();
    if (phase_ == Phase::Running) watch_.finished();
    while (!watch_.verdict()) wait_for_events();
    if (!verdict_taken_) take_verdict();
    return outcome();
}

void Supervisor::start(const std::vector<WorkerPlan>& plans) {
    const auto nothing = open_nothing();
    workers_.reserve(plans.size());
    for (const auto& plan : plans) workers_.push_back(start_worker(plan, nothing.get()));
}

Worker Supervisor::start_worker(const WorkerPlan& plan, int nothing) {
    // A worker that reads a terminal from its own process group would be stopped.
    const bool reads = plan.rank == 0 && ::isatty(STDIN_FILENO) == 0;
    // First, for what they need may be missing.
    LineReader out = make_reader(plan, standard_output);
    LineReader err = make_reader(plan, standard_error);
    const auto& sets = options_.processors;
    auto process =
        start_process(executables_[plan.program], plan.environment, reads ? STDIN_FILENO : nothing,
                      sets.empty() ? ProcessorSet{} : sets[static_cast<size_t>(plan.local_rank)]);
    guard_.add(process.pid);
    out.read_from(std::move(process.out));
    err.read_from(std::move(process.err));
    err.keep_last(limits::last_lines, limits::last_line_bytes);
    const auto& program = options_.programs[plan.program].command.front();
    return {plan.rank,      plan.local_rank, program,    process.pid,
            std::move(out), std::move(err),  plan.folder};
}

LineReader Supervisor::make_reader(const WorkerPlan& plan, int stream) const {
    const auto& filter = options_.local_ranks_filter;
    const bool shown = !options_.redirects.has(plan.local_rank, stream) &&
                       (filter.empty() || filter.count(plan.local_rank) > 0);
    const int target = stream == standard_output ? STDOUT_FILENO : STDERR_FILENO;
    LineReader reader(net::Descriptor(), shown ? target : LineReader::nowhere,
                      options_.prefixes ? cat("[rank ", plan.rank, "] ") : "");
    if (options_.redirects.has(plan.local_rank, stream) ||
        options_.tee.has(plan.local_rank, stream)) {
        const auto path =
            cat(plan.folder, stream == standard_output ? "/stdout" : "/stderr", ".log");
        reader.log_to(make_log_file(path), path);
    }
    return reader;
}

void Supervisor::wait_for_events() {
    std::vector<pollfd> entries{{signals_.descriptor(), POLLIN, 0}};
    std::vector<LineReader*> readers{nullptr};
    if (!verdict_taken_) {
        entries.push_back({watch_.descriptor(), POLLIN, 0});
        readers.push_back(nullptr);
    }
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
    if (::poll(entries.data(), entries.size(), next_look().poll_ms()) > 0) {
        for (size_t i = 1; i < entries.size(); ++i) {
            if (readers[i] != nullptr && entries[i].revents != 0) readers[i]->read_some(writer_);
        }
    }
    for (auto& worker : workers_) {
        for (LineReader* reader : {&worker.out, &worker.err}) {
            if (!writer_.full() && reader->due().expired()) reader->show_beginning(writer_);
        }
    }
    writer_.write_some();
    take_signals();
    look_at_what_is_left();
    take_news();
    if (!verdict_taken_ && watch_.verdict()) take_verdict();
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
        const auto child = static_cast<pid_t>(info->ssi_pid);
        const bool is_rank = std::ranges::any_of(
            workers_, [child](const Worker& worker) { return worker.pid == child; });
        if (died && is_rank && first_dead < 0) first_dead = child;
    }
    if (!children_changed) return;
    notice_stops();
    collect_endings(first_dead);
    reap_adopted();
}

// They may handle it, or not; Ctrl-Z stops this process as well.
void Supervisor::pass_on(int number) {
    if (anyone_alive()) say(cat("got ", signal_text(number), ", passed on to the ranks"));
    writer_.write_some();
    for (auto& worker : workers_) {
        if (!worker.alive) continue;
        worker.passed.push_back(number);
        ::kill(-worker.pid, number);
    }
    if (number != SIGTSTP) return;
    stop_this_process();
    for (const auto& worker : workers_) {
        if (worker.alive) ::kill(-worker.pid, SIGCONT);
    }
}

void Supervisor::take_signal(int number) {
    if (!ends_job(number)) return pass_on(number);
    if (!anything_left()) {  // only output is left, or other nodes are
        if (number != SIGPIPE) writer_.clear();
        if (job_signal_ == 0) job_signal_ = number;
        watch_.raise(Verdict::Kind::Signal, number);
        return;
    }
    const bool impatient = number == SIGINT && std::exchange(interrupted_, true);
    if (job_signal_ == 0) job_signal_ = number;
    if (impatient) {
        say("interrupted again: killing the ranks");
        phase_ = Phase::Killing;
        next_step_ = Deadline::never();
        send(SIGKILL);
        return;
    }
    if (number != SIGPIPE) {
        say(cat("got ", signal_text(number), ", passed on to the ranks"));
    }
    // The ranks get no SIGPIPE: their own pipes are whole.
    terminate(number == SIGPIPE ? SIGTERM : number);
    watch_.raise(Verdict::Kind::Signal, job_signal_);
}

// A stopped rank is no failure, but often the reason of those that follow.
void Supervisor::notice_stops() {
    for (auto& worker : workers_) {
        if (!worker.alive) continue;
        siginfo_t info = {};
        const int wanted = WSTOPPED | WCONTINUED | WNOHANG;
        while (::waitid(P_PID, static_cast<id_t>(worker.pid), &info, wanted) == 0 &&
               info.si_pid != 0) {
            const bool was_stopped =
                std::exchange(worker.stopped_by,
                              info.si_code == CLD_STOPPED ? info.si_status : 0) != 0;
            if (phase_ == Phase::Running && (was_stopped || worker.stopped_by != 0)) {
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
    // A rank that fails within moments of a failure on another node may be the cause of both.
    const bool early = phase_ == Phase::Running || phase_ == Phase::LastWords;
    if (failed && early && suspects_.empty()) suspect(first_dead);
    const bool all_dead = std::none_of(suspects_.begin(), suspects_.end(),
                                       [&](size_t suspect) { return workers_[suspect].alive; });
    if (all_dead) name_the_first();
    tell_later_failures();
}

// True if the worker has ended.
bool Supervisor::collect(Worker& worker) {
    siginfo_t info = {};
    const auto id = static_cast<id_t>(worker.pid);
    if (::waitid(P_PID, id, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) {
        return false;
    }
    // Its process group ends with it, in its own time: below a script is the program. SIGINT and
    // SIGQUIT are not for all of it, as a shell has its background ignore them. Until the process
    // is reaped the number is surely its own, and later while others of the group are there.
    const auto tells_all = [](int number) { return number == SIGTERM || number == SIGHUP; };
    if (std::ranges::none_of(worker.passed, tells_all)) {
        ::kill(-worker.pid, SIGTERM);
        ::kill(-worker.pid, SIGCONT);
    }
    ::waitid(P_PID, id, &info, WEXITED);
    worker.alive = false;
    worker.leaves = true;
    worker.limit = Deadline::after_ms(options_.shutdown_timeout_ms);
    worker.ended_us = now_us();
    worker.ending =
        ExitStatus{info.si_code != CLD_EXITED, info.si_status, info.si_code == CLD_DUMPED};
    worker.out.read_all(writer_);
    worker.err.read_all(writer_);
    return true;
}

void Supervisor::look_at_what_is_left() {
    for (auto& worker : workers_) {
        if (!worker.leaves) continue;
        bool is_there = ::kill(-worker.pid, 0) == 0 || errno == EPERM;
        if (is_there && (worker.limit.expired() || phase_ == Phase::Killing) && !worker.is_killed) {
            ::kill(-worker.pid, SIGKILL);
            worker.is_killed = true;
            worker.limit = Deadline::after_ms(killed_ms);
        }
        if (worker.is_killed) is_there = is_there && !worker.limit.expired();
        if (is_there && !worker.is_killed) end_who_missed_the_signal(worker.pid);
        if (is_there) continue;
        worker.leaves = false;
        guard_.remove(worker.pid);
        worker.out.drain(writer_);
        worker.err.drain(writer_);
        if ((!worker.ending->failed() || go_on()) && anyone_alive()) ended_(worker.rank);
    }
}

// The children of a rank that has ended are children of this process now.
void Supervisor::reap_adopted() {
    siginfo_t info = {};
    while (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0) {
        const auto is_it = [&](const Worker& worker) {
            return worker.alive && worker.pid == info.si_pid;
        };
        if (std::ranges::any_of(workers_, is_it)) return;  // just now: another signal tells
        ::waitid(P_PID, static_cast<id_t>(info.si_pid), &info, WEXITED | WNOHANG);
        info = {};
    }
}

// A process that dies closes its connections a moment before its parent can see it dead, so those
// that fail because of it may be seen first: a rank that is dying now is a suspect, too.
void Supervisor::suspect(pid_t first_dead) {
    for (size_t i = 0; i < workers_.size(); ++i) {
        const Worker& worker = workers_[i];
        const bool suspect = worker.alive ? is_exiting(worker.pid) : worker.ending->failed();
        if (suspect) suspects_.push_back(i);
    }
    first_dead_ = first_dead;
    if (phase_ == Phase::LastWords) return;
    next_step_ = Deadline::after_ms(last_words_ms);
    if (go_on()) return;
    phase_ = Phase::LastWords;
    watch_.raise(Verdict::Kind::Failed);
}

// Names the cause among the suspects. A suspect that a signal killed is the cause of the others'
// failures (an abort may be a program's own answer to a failure, like an exit, and comes second);
// else it is the one whose death was signalled first.
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
    say_failure(workers_[*first_]);
    for (const auto& worker : workers_) {
        if (worker.alive && worker.stopped_by != 0) {
            say(cat(name(worker), " had been stopped by ", signal_text(worker.stopped_by)));
        }
    }
}

// Where the others go on, each failure is said when it happens.
void Supervisor::tell_later_failures() {
    if (!go_on() || !first_ || phase_ != Phase::Running) return;
    for (auto& worker : workers_) {
        if (!worker.alive && worker.ending->failed() && !worker.is_told) say_failure(worker);
    }
}

void Supervisor::say_failure(Worker& worker) {
    worker.is_told = true;
    say(cat(name(worker), " ", describe(*worker.ending), ": ", worker.program));
    if (!go_on() || phase_ != Phase::Running) return;
    const auto left = std::ranges::count_if(workers_, &Worker::alive);
    if (left > 0) say(cat(left, " of ", workers_.size(), " ranks of this node go on"));
}

// News of nodes without which the others go on.
void Supervisor::take_news() {
    for (const auto& news : watch_.take_news()) {
        say(news.text);
        if (news.is_lost) ended_(news.first_rank);
    }
}

void Supervisor::take_next_step() {
    if (phase_ == Phase::Running) {
        next_step_ = Deadline::never();
        name_the_first();
        return tell_later_failures();
    }
    if (phase_ == Phase::LastWords) {
        name_the_first();
        terminate(SIGTERM);
        return;
    }
    phase_ = Phase::Killing;
    next_step_ = Deadline::never();
    send(SIGKILL);
}

// While the ranks are where they were.
void Supervisor::say_why() {
    for (const auto& sentence : reasons_.say_once(workers_)) say(sentence);
}

void Supervisor::terminate(int number) {
    say_why();
    send(number);
    if (phase_ != Phase::Running && phase_ != Phase::LastWords) return;
    phase_ = Phase::Terminating;
    next_step_ = Deadline::after_ms(options_.shutdown_timeout_ms);
}

// Takes the verdict of other nodes; this node has acted upon its own already.
void Supervisor::take_verdict() {
    verdict_taken_ = true;
    const Verdict verdict = *watch_.verdict();
    if (phase_ != Phase::Running) return;
    if (verdict.kind == Verdict::Kind::Done) {
        if (anything_left()) {
            say("the other nodes took this one for lost, and have ended; its ranks go on");
        }
        return;
    }
    if (verdict.kind == Verdict::Kind::Lost && go_on()) {
        say(anything_left() ? cat(verdict.text, "; the ranks of this node go on") : verdict.text);
        return;
    }
    const auto node = cat("node ", verdict.node, " (", verdict.host, ")");
    switch (verdict.kind) {
        case Verdict::Kind::Failed:
            say(cat("there was a failure on ", node));
            phase_ = Phase::LastWords;
            next_step_ = Deadline::after_ms(last_words_ms);
            return;
        case Verdict::Kind::Signal:
            say(cat(node, " got ", signal_text(verdict.signal)));
            terminate(verdict.signal == SIGPIPE ? SIGTERM : verdict.signal);
            return;
        default:
            say(verdict.text);
            terminate(SIGTERM);
    }
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
    for (const auto& worker : workers_) {
        const ExitStatus& ending = *worker.ending;
        if (worker.is_told || !ending.failed()) continue;
        if (!is_ended_by_us(worker)) {
            say(cat(name(worker), " ", describe(ending), " afterwards"));
        } else if (ending.number == SIGKILL) {
            say(cat(name(worker), " had to be killed"));
        }
    }
}

void Supervisor::say(const std::string& sentence) {
    writer_.push(STDERR_FILENO, cat("tuttirun: ", sentence, "\n"));
}

bool Supervisor::anything_left() const {
    return std::ranges::any_of(workers_,
                               [](const Worker& worker) { return worker.alive || worker.leaves; });
}

Deadline Supervisor::next_look() const {
    Deadline next = next_step_;
    for (const auto& worker : workers_) {
        if (worker.leaves) next = next.or_earlier(Deadline::after_ms(look_ms));
        if (writer_.full()) continue;
        next = next.or_earlier(worker.out.due()).or_earlier(worker.err.due());
    }
    return next;
}

bool Supervisor::anyone_alive() const {
    return std::any_of(workers_.begin(), workers_.end(),
                       [](const Worker& worker) { return worker.alive; });
}

Failure Supervisor::failure_to_report(const Worker& worker) const {
    Failure failure = failure_of(worker);
    if (options_.programs.size() > 1) failure.program = worker.program;
    return failure;
}

Outcome Supervisor::outcome() const {
    Outcome outcome;
    outcome.verdict = *watch_.verdict();
    outcome.signal = job_signal_;
    outcome.succeeded = static_cast<int>(std::ranges::count_if(
        workers_, [](const Worker& worker) { return !worker.ending->failed(); }));
    if (first_) outcome.failures.push_back(failure_to_report(workers_[*first_]));
    for (size_t i = 0; i < workers_.size(); ++i) {
        const Worker& worker = workers_[i];
        if (i == first_ || !worker.is_told) continue;
        Failure failure = failure_to_report(worker);
        failure.last_lines.clear();
        failure.message.resize(cut(failure.message, limits::last_line_bytes).size());
        outcome.failures.push_back(std::move(failure));
    }
    return outcome;
}

}  // namespace tutti::launch
