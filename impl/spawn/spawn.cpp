// From the first fork to the last end. The child's part is at the top: it runs in the new process,
// on its one thread, and never returns.
#include "spawn.hpp"

#include <fcntl.h>
#include <stdio_ext.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "base/exit_status.hpp"
#include "base/text.hpp"
#include "children.hpp"
#include "report.hpp"
#include "store/store.hpp"

namespace tutti::spawn {

namespace {

// Where the parent's store is reached: TUTTI_STORE_BIND may have moved it.
std::string store_host() {
    const auto bound = environment("TUTTI_STORE_BIND").value_or("127.0.0.1");
    if (bound == "0.0.0.0") return "127.0.0.1";
    return bound == "::" ? "::1" : bound;
}

// A rank that others saw die is seen dead by its parent moments later.
constexpr int64_t dying_ms = 1'000;

// Text that the parent has read ahead of its standard input is not the child's, and several
// processes that read one input get pieces of it.
void empty_standard_input() noexcept {
    ::__fpurge(stdin);
    const int nothing = ::open("/dev/null", O_RDONLY);
    if (nothing < 0) return;
    ::dup2(nothing, STDIN_FILENO);
    if (nothing != STDIN_FILENO) ::close(nothing);
}

void set(const char* name, const std::string& value) {
    ::setenv(name, value.c_str(), 1);
}

void set_variables(int rank, int count, int port) {
    for (const char* name : {"RANK", "LOCAL_RANK"}) set(name, std::to_string(rank));
    for (const char* name : {"WORLD_SIZE", "LOCAL_WORLD_SIZE"}) set(name, std::to_string(count));
    set("MASTER_ADDR", store_host());
    set("MASTER_PORT", std::to_string(port));
    // For this address alone: a function that chooses another one serves there itself.
    set("TUTTI_STORE_SERVED_AT", cat(store_host(), ":", port));
    ::unsetenv("TORCHELASTIC_USE_AGENT_STORE");
}

[[noreturn]] void live(const Plan& plan, int rank, SharedReports& shared) {
    empty_standard_input();
    const int port = shared.wait_at_gate();
    Status status;
    try {
        if (plan.environment) set_variables(rank, plan.count, port);
        plan.enter();
        status = plan.body(rank);
    } catch (...) {
        status = current_status();
    }
    shared[rank].write(status);
    std::fflush(nullptr);
    // Not exit: what the parent wants done at its end is not for us to do.
    ::_exit(status.ok() ? EXIT_SUCCESS : EXIT_FAILURE);
}

}  // namespace

class Spawn::State {
public:
    explicit State(const Plan& plan) : plan_(plan), shared_(plan.count) {
        std::fflush(nullptr);  // or each child would write it again
        for (int rank = 0; rank < plan.count; ++rank) {
            children_.add([&] { live(plan, rank, shared_); });
        }
        // Its thread must not be there while processes fork; it outlives rank 0.
        if (plan.environment) store_ = make_store_server(store_host(), 0);
        shared_.open_gate(store_ ? store_->port() : 1);
    }

    Status wait(const Deadline& deadline) {
        while (children_.anyone_alive()) {
            if (!children_.wait(deadline)) return give_up();
            if (const auto first = first_failure()) {
                Status status = describe(*first);
                end_all();
                return status;
            }
        }
        return {};
    }

private:
    [[nodiscard]] bool failed(int rank) {
        const Child& child = children_.all()[static_cast<size_t>(rank)];
        if (child.alive) return false;
        if (!child.ending) return !shared_[rank].returned || shared_[rank].code != TUTTI_OK;
        return child.ending->failed();
    }
    // By its own account; a child that a signal killed may have returned before.
    [[nodiscard]] bool returned(int rank) {
        const Child& child = children_.all()[static_cast<size_t>(rank)];
        return shared_[rank].returned && !(child.ending && child.ending->by_signal);
    }

    // The rank that failed first, if any has: looked for among all that are dead or dying now,
    // since a rank that fails because of another's death may be seen first.
    std::optional<int> first_failure() {
        std::vector<int> suspects;
        bool any = false;
        for (int rank = 0; rank < plan_.count; ++rank) {
            const Child& child = children_.all()[static_cast<size_t>(rank)];
            any = any || failed(rank);
            if (child.alive ? is_exiting(child.pid) : failed(rank)) suspects.push_back(rank);
        }
        if (!any) return std::nullopt;
        const auto deadline = Deadline::after_ms(dying_ms);
        const auto dying = [&](int rank) {
            return children_.all()[static_cast<size_t>(rank)].alive;
        };
        while (std::any_of(suspects.begin(), suspects.end(), dying) && children_.wait(deadline)) {
        }
        std::erase_if(suspects, [&](int rank) { return !failed(rank); });
        return *std::min_element(suspects.begin(), suspects.end(),
                                 [&](int one, int other) { return order(one) < order(other); });
    }

    // A signal is a cause; an abort may be a program's answer to a failure, like an exit; and to
    // have lost a peer is a consequence. Of one kind, the earliest.
    std::tuple<int, int64_t> order(int rank) {
        const Child& child = children_.all()[static_cast<size_t>(rank)];
        if (returned(rank)) {
            const Report& report = shared_[rank];
            const bool consequence =
                report.code == TUTTI_ERR_PEER_LOST || report.code == TUTTI_ERR_ABORTED;
            return {consequence ? 3 : 2, report.time_ns};
        }
        const bool killed = child.ending && child.ending->by_signal;
        if (!killed) return {2, child.ended_ns};
        return {child.ending->number == SIGABRT ? 1 : 0, child.ended_ns};
    }

    Status describe(int rank) {
        const Child& child = children_.all()[static_cast<size_t>(rank)];
        const auto who =
            cat("rank ", rank, " of ", plan_.count, " (pid ", static_cast<int>(child.pid), ")");
        if (returned(rank)) {
            Status status = shared_[rank].read();
            status.rank = rank;
            status.message = status.message.empty() ? cat(who, " returned ", status.code)
                                                    : cat(who, ": ", status.message);
            return status;
        }
        if (!child.ending) {
            return {TUTTI_ERR_PEER_LOST, rank, 0,
                    cat(who,
                        " ended, how is not known: this program ignores SIGCHLD, or waits "
                        "for children that are not its own")};
        }
        return {TUTTI_ERR_PEER_LOST, rank, 0, cat(who, " ", tutti::describe(*child.ending))};
    }

    Status give_up() {
        std::string running;
        int first = -1;
        for (int rank = 0; rank < plan_.count; ++rank) {
            if (!children_.all()[static_cast<size_t>(rank)].alive) continue;
            if (first < 0) first = rank;
            running += cat(running.empty() ? "" : ", ", rank);
        }
        end_all();
        return {TUTTI_ERR_TIMEOUT, first, 0,
                cat("the time is up, and of ", plan_.count,
                    " ranks these still ran and were ended: ", running)};
    }

    void end_all() {
        children_.send(SIGTERM);
        const auto grace = Deadline::after_ms(plan_.grace_ms);
        while (children_.anyone_alive() && children_.wait(grace)) {
        }
        children_.send(SIGKILL);
        while (children_.anyone_alive()) children_.wait(Deadline::never());
    }

    const Plan plan_;
    SharedReports shared_;
    std::unique_ptr<StoreServer> store_;
    Children children_;  // the last: they end before what they use
};

Spawn::Spawn(const Plan& plan) : state_(std::make_unique<State>(plan)) {}

Spawn::~Spawn() = default;

Status Spawn::wait(const Deadline& deadline) {
    return state_->wait(deadline);
}

}  // namespace tutti::spawn
