#include "breakpoint.hpp"

#include <limits.h>
#include <unistd.h>

#include <array>
#include <string>

#include "base/debugger.hpp"
#include "base/error.hpp"
#include "base/notice.hpp"
#include "compare_calls.hpp"
#include "foreign_peers.hpp"
#include "membership/world.hpp"
#include "notes.hpp"
#include "record/recorder.hpp"
#include "turn.hpp"

namespace tutti {

namespace {

constexpr int64_t look_ms = 20;  // for a debugger

std::string host_name() {
    std::array<char, HOST_NAME_MAX + 1> name{};
    ::gethostname(name.data(), name.size() - 1);
    return name.data();
}

}  // namespace

Breakpoint::Breakpoint(GroupCore& group, int rank)
    : group_(group), call_{CallKind::Breakpoint, 0, 0, rank, 0} {
    if (rank >= 0 && rank < group.identity.size) return;
    throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                cat("group_rank is ", rank, "; ", group.identity.label(), " has the ranks 0 to ",
                    group.identity.size - 1));
}

Breakpoint::~Breakpoint() {
    if (expects_debugger_) expect_debugger(false);
}

bool Breakpoint::meet(int64_t timeout_ms) {
    const char* const name = name_of(call_.kind);
    group_.identity.check_may_wait(name);
    check_has_membership(group_.identity, name);
    entry_.emplace(group_.life, name);
    const Deadline until = group_.deadline_here(timeout_ms);
    // A rank that has seen the others come knows of it.
    if (is_chosen()) expect_debugger(true);
    record::as_call(record_of(call_, group_, {timeout_ms}), [&](record::Call& recorded) {
        run_in_turn(group_, call_, until, recorded, [&](uint64_t sequence) {
            if (!group_.identity.compares_first) {
                compare_calls(group_, call_, sequence, until);
            }
            if (is_chosen()) await_debugger();
        });
    });
    return is_chosen();
}

void Breakpoint::leave() {
    if (is_chosen()) expect_debugger(false);
    const Deadline never = Deadline::never();
    record::as_call(record_of(call_, group_, {TUTTI_NO_TIMEOUT}), [&](record::Call& recorded) {
        run_in_turn(group_, call_, never, recorded,
                    [&](uint64_t sequence) { await_breakpoint_end(group_, call_, sequence); });
    });
}

void Breakpoint::expect_debugger(bool expects) {
    expects_debugger_ = expects;
    group_.membership->world().expect_debugger(expects);
}

// There is no limit, but the group's end.
void Breakpoint::await_debugger() const {
    const OpenToDebuggers open;
    if (!is_traced()) {
        notice(LogLevel::Warning, cat("breakpoint on ", group_.identity.label(),
                                      ": this rank waits for a debugger on host ", host_name(),
                                      ": gdb -p ", ::getpid(), " -ex continue"));
    }
    while (!is_traced()) {
        const Status failure = group_.membership->await_failure(Deadline::after_ms(look_ms));
        if (!failure.ok()) throw Error(failure);
        group_.life.check_turn();
    }
}

}  // namespace tutti
