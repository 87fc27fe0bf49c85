// The one try/catch between C++ and C: what goes down as an exception comes up as a status and
// fills the caller's tutti_error. Also where a child of fork is told that it cannot use its
// parent's tutti. Any thread.
#pragma once

#include <atomic>
#include <string_view>
#include <utility>

#include "refusal.hpp"
#include "tutti/error.h"

namespace tutti::capi {

enum class Process : int { Untouched, Entered, Forked };
inline constinit std::atomic<Process> process_state{Process::Untouched};

inline bool forked() noexcept {
    return process_state.load(std::memory_order_relaxed) == Process::Forked;
}

// Marks this process as one that uses tutti, and looks for a profiler. Throws UNSUPPORTED in a
// child of such a one.
void enter_first_time();
inline void enter() {
    if (process_state.load(std::memory_order_relaxed) != Process::Entered) enter_first_time();
}

// In a child of tutti_spawn: it was forked when nothing of tutti was there.
inline void start_afresh() noexcept {
    process_state = Process::Entered;
}

// Fills `error`, if there is one, within its struct_size; `function` goes first unless empty.
tutti_status report(const Status& status, std::string_view function, tutti_error* error) noexcept;

// Which failures get the function's name in front: those of its arguments, for of all others the
// engine names the operation; or every one, where the engine has no name for it, because it makes
// a store, a group or processes.
enum class ErrorPrefix { Arguments, All };

constexpr bool is_named(ErrorPrefix naming, tutti_status code) {
    return naming == ErrorPrefix::All || code == TUTTI_ERR_INVALID_ARGUMENT ||
           code == TUTTI_ERR_INVALID_HANDLE;
}

// Runs the body of a C function. The body writes outputs as the last thing it does.
template <ErrorPrefix naming = ErrorPrefix::Arguments, typename Body>
tutti_status guard(const char* function, tutti_error* error, Body&& body) noexcept {
    try {
        enter();
        std::forward<Body>(body)();
        return TUTTI_OK;
    } catch (const Refusal& refusal) {
        return report(refusal.status(), function, error);
    } catch (const Error& failure) {
        const bool named = is_named(naming, failure.status().code);
        return report(failure.status(), named ? function : "", error);
    } catch (...) {
        return report(current_status(), function, error);
    }
}

// Throws unless the caller gave a place for the output.
inline void need_output(const void* place, const char* argument) {
    if (place == nullptr) refuse(argument, " is NULL");
}

}  // namespace tutti::capi
