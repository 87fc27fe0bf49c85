// Attempts, and what follows from their ends. Main thread of the launcher.
#include "job.hpp"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "interruptible.hpp"
#include "keys.hpp"
#include "limits.hpp"
#include "process.hpp"
#include "store/job_end.hpp"

namespace tutti::launch {

namespace {

constexpr int cannot_run_code = 127;
constexpr int failure_code = 1;
constexpr int64_t tell_ms = 1'000;

int signal_code(int number) {
    return 128 + number;
}

// As torchrun does: Python without a buffer, and another one than python3 by PYTHON_EXEC.
std::vector<std::string> command_of(const Program& program) {
    auto command = program.command;
    const auto& file = command.front();
    const bool script = file.ends_with(".py") && ::access(file.c_str(), F_OK) == 0 &&
                        ::access(file.c_str(), X_OK) != 0;
    const bool wanted = program.python == Python::Module || program.python == Python::File ||
                        (program.python == Python::Scripts && script);
    if (!wanted) return command;
    std::vector<std::string> python{environment("PYTHON_EXEC").value_or("python3"), "-u"};
    if (program.python == Python::Module) python.emplace_back("-m");
    command.insert(command.begin(), python.begin(), python.end());
    return command;
}

std::vector<Executable> find_programs(const std::vector<Program>& programs) {
    std::vector<Executable> found;
    for (const auto& program : programs) {
        auto command = command_of(program);
        auto path = find_program(command.front());
        found.push_back({std::move(path), std::move(command)});
    }
    return found;
}

}  // namespace

Job::Job(const Options& options, std::span<const char* const> inherited, SignalInbox& signals,
         const Guard& guard)
    : options_(options),
      inherited_(inherited),
      signals_(signals),
      guard_(guard),
      logs_(options),
      bootstrap_(bootstrap_nodes(options, signals, [&](const std::string& sentence) {
          say(sentence);
          writer_.write_some();
      })) {}

int Job::run() {
    bootstrap_.placement.record_dir = records_.path();
    for (;; ++bootstrap_.placement.attempt) {
        open_workers_store();
        const Outcome outcome = run_attempt();
        bool again = false;
        const int code = conclude(outcome, again);
        if (!again) {
            leave(outcome.verdict);
            if (code != 0 && records_.keep()) {
                say(cat("the last calls of the ranks are in ", records_.path(),
                        ", for tuttitrace"));
            }
            if (logs_.is_found_by_luck()) say(cat("logs are in ", logs_.path()));
            flush();
            return code_with_output(code);
        }
    }
}

// Keys of an earlier attempt must not confuse a later one: each has a store of its own.
void Job::open_workers_store() {
    Placement& placement = bootstrap_.placement;
    placement.master_addr = options_.endpoint.host;
    workers_store_.reset();
    const bool shared = placement.attempt == 0 && bootstrap_.port != 0;
    if (bootstrap_.serves && !shared) {
        const int port = bootstrap_.port == 0 ? options_.endpoint.port : 0;
        workers_store_ = make_store_server(options_.endpoint.host, port);
    }
    if (shared) {
        placement.master_port = bootstrap_.port;
        return;
    }
    const auto key = keys::port(placement.attempt);
    const auto deadline = Deadline::after_ms(options_.times.join_ms);
    if (workers_store_) {
        bootstrap_.store->set(key, std::to_string(workers_store_->port()), deadline);
    }
    const auto port = interruptibly(signals_, deadline, wait_slice_ms, [&](const Deadline& slice) {
        return bootstrap_.store->get(key, slice);
    });
    placement.master_port =
        static_cast<int>(parse_number(port, "the port of the workers' store", 1, limits::port));
}

Outcome Job::run_attempt() {
    const Placement& placement = bootstrap_.placement;
    Watch watch(bootstrap_, placement.attempt, options_.times, goes_on(options_));
    try {
        std::vector<std::string> folders;
        const auto& node = placement.nodes[static_cast<size_t>(placement.node_rank)];
        for (int local_rank = 0; local_rank < local_size(node); ++local_rank) {
            folders.push_back(logs_.folder_of(placement.attempt, local_rank));
        }
        Supervisor supervisor(find_programs(options_.programs), options_, signals_, guard_, watch,
                              writer_, Reasons(records_.path()),
                              [this](int rank) { tell_ranks_of_end(rank); });
        return supervisor.run(plan_workers(placement, inherited_, folders));
    } catch (const Error& fault) {
        // The other nodes must not wait for ranks that never were.
        watch.raise(Verdict::Kind::Failed);
        say(fault.what());
        const bool program = dynamic_cast<const CannotRun*>(&fault) != nullptr;
        Failure failure;
        failure.message = fault.what();
        failure.ending.number = program ? cannot_run_code : failure_code;
        failure.time_us = now_us();
        return {*watch.verdict(), {failure}};
    }
}

// The ranks that still meet at the workers' store need not wait for it. Once is enough.
void Job::tell_ranks_of_end(int rank) {
    const Placement& placement = bootstrap_.placement;
    if (std::exchange(told_of_end_in_, placement.attempt) == placement.attempt) return;
    TcpStoreOptions options;
    options.host = placement.master_addr;
    options.port = placement.master_port;
    options.wait_for_workers = false;
    options.timeout_ms = tell_ms;
    try {
        tell_end(*make_tcp_store(options), rank, Deadline::after_ms(tell_ms));
    } catch (const Error& error) {  // then they wait until their time is over
        log(LogLevel::Info, "tuttirun: ", error.what());
    }
}

Statement Job::state(const Outcome& outcome) const {
    const Placement& placement = bootstrap_.placement;
    Statement statement;
    statement.final = outcome.signal != 0;
    statement.succeeded = outcome.succeeded;
    statement.failures = outcome.failures;
    for (Failure& failure : statement.failures) {
        failure.node = placement.node_rank;
        failure.host = placement.nodes[static_cast<size_t>(placement.node_rank)].host;
        if (failure.rank < 0) statement.final = true;
    }
    return statement;
}

std::vector<Statement> Job::gather(const Statement& own, const Verdict& verdict) {
    const Placement& placement = bootstrap_.placement;
    std::vector<Statement> all{own};
    try {
        const auto deadline =
            Deadline::after_ms(options_.shutdown_timeout_ms + options_.times.lost_ms());
        auto& store = *bootstrap_.store;
        store.set(keys::statement(placement.attempt, placement.node_rank), encode(own), deadline);
        for (int node = 0; node < static_cast<int>(placement.nodes.size()); ++node) {
            const bool lost = verdict.kind == Verdict::Kind::Lost && verdict.node == node;
            if (lost || node == placement.node_rank) continue;
            const auto text =
                interruptibly(signals_, deadline, wait_slice_ms, [&](const Deadline& slice) {
                    return store.get(keys::statement(placement.attempt, node), slice);
                });
            all.push_back(decode_statement(text));
        }
    } catch (const Error& fault) {
        say(cat("not all nodes could be asked how they ended: ", fault.what()));
    } catch (const Interrupted&) {
        say("interrupted while asking the other nodes how they ended");
    }
    return all;
}

int Job::conclude(const Outcome& outcome, bool& again) {
    const Verdict& verdict = outcome.verdict;
    const Placement& placement = bootstrap_.placement;
    const bool go_on = goes_on(options_);
    const bool is_done = verdict.kind == Verdict::Kind::Done;
    if (is_done && !go_on) return 0;
    const bool reachable = verdict.kind != Verdict::Kind::Lost || verdict.node >= 0;
    const auto own = state(outcome);
    const auto statements = reachable ? gather(own, verdict) : std::vector<Statement>{own};

    const auto [final, succeeded, failures] = sum_of(statements);
    const int nodes = static_cast<int>(placement.nodes.size());
    for (const auto& failure : failures) {
        // A failure of this tuttirun itself has been said.
        if (failure.rank < 0 && failure.node == placement.node_rank) continue;
        const bool is_first = &failure == &failures.front();
        for (const auto& line : report(is_first, failure, nodes)) say(line);
        if (is_done && failure.rank < 0) lost_nodes_.insert(failure.node);
    }
    if (verdict.kind == Verdict::Kind::Signal) return signal_code(verdict.signal);
    // Without the store this node's ranks have gone on, unless a signal ended them.
    const bool is_cut_off = go_on && !reachable;
    if (is_cut_off || (go_on && !failures.empty())) say_how_many(succeeded, is_cut_off);
    if (is_cut_off && outcome.signal != 0) return signal_code(outcome.signal);
    if ((is_cut_off || (is_done && go_on)) && succeeded > 0) return 0;
    const bool are_all_asked = statements.size() == placement.nodes.size();
    again = (is_done || verdict.kind == Verdict::Kind::Failed) && !final && are_all_asked &&
            placement.attempt < placement.max_restarts;
    if (again) {
        say(cat("starting all ranks again, restart ", placement.attempt + 1, " of ",
                placement.max_restarts));
    }
    return failures.empty() ? failure_code : failures.front().ending.exit_code();
}

void Job::say_how_many(int succeeded, bool of_this_node) {
    const Placement& placement = bootstrap_.placement;
    int ranks = 0;
    for (const auto& node : placement.nodes) ranks += local_size(node);
    if (of_this_node) ranks = local_size(options_);
    say(cat(succeeded, " of ", ranks, " ranks", of_this_node ? " of this node" : "",
            " ended with exit code 0"));
}

// The node that serves the store stays until the others need it no more.
void Job::leave(const Verdict& verdict) {
    const Placement& placement = bootstrap_.placement;
    if (verdict.kind == Verdict::Kind::Lost && verdict.node < 0) return;
    const auto deadline = Deadline::after_ms(options_.times.lost_ms());
    try {
        bootstrap_.store->add(keys::left(placement.node_rank), 1, deadline);
        if (!bootstrap_.serves) return;
        std::vector<std::string> names;
        for (int node = 0; node < static_cast<int>(placement.nodes.size()); ++node) {
            const bool lost = verdict.kind == Verdict::Kind::Lost && verdict.node == node;
            if (!lost && !lost_nodes_.contains(node)) names.push_back(keys::left(node));
        }
        interruptibly(signals_, deadline, wait_slice_ms, [&](const Deadline& slice) {
            bootstrap_.store->wait(names, slice);
            return true;
        });
    } catch (const Error&) {
        // They have ended in their own way.
    } catch (const Interrupted&) {
        // And so does this one.
    }
}

// Ranks that ended well count as failed when their output could not be written.
int Job::code_with_output(int code) {
    const auto& fault = writer_.fault();
    if (!fault) return code;
    const char* stream = fault->descriptor == STDOUT_FILENO ? "output" : "error";
    say(cat("cannot write to standard ", stream, ": ", write_fault_text(fault->number)));
    flush();
    if (code != 0) return code;
    return fault->number == EPIPE ? signal_code(SIGPIPE) : failure_code;
}

// A signal ends the wait for the rest of the output.
void Job::flush() {
    while (!writer_.empty()) {
        std::array<pollfd, 2> entries{pollfd{signals_.descriptor(), POLLIN, 0},
                                      pollfd{writer_.descriptor(), POLLOUT, 0}};
        ::poll(entries.data(), entries.size(), -1);
        while (const auto info = signals_.next()) {
            const int number = static_cast<int>(info->ssi_signo);
            if (ends_job(number) && number != SIGPIPE) writer_.clear();
            if (number == SIGTSTP) stop_this_process();
        }
        writer_.write_some();
    }
}

void Job::say(const std::string& sentence) {
    writer_.push(STDERR_FILENO, cat("tuttirun: ", sentence, "\n"));
}

}  // namespace tutti::launch
