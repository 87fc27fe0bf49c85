// Writes a failure into the caller's memory, and keeps the mark that fork leaves. Any thread; the
// handler of fork runs in the child.
#include "guard.hpp"

#include <pthread.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>
#include <string>

#include "base/call_stack.hpp"
#include "base/mutex.hpp"
#include "base/notice.hpp"
#include "base/open_descriptors.hpp"
#include "profile/tool.hpp"

namespace tutti::capi {

namespace {

constinit Mutex entrance;

// An error that is all zero has the layout of version 0.1.
constexpr size_t first_size = 512;
static_assert(sizeof(tutti_error) >= first_size);

size_t known_size(const tutti_error& error) noexcept {
    return error.struct_size == 0 ? first_size
                                  : std::min<size_t>(error.struct_size, sizeof(tutti_error));
}

void write_message(tutti_error& error, std::string_view function,
                   std::string_view message) noexcept {
    constexpr size_t start = offsetof(tutti_error, message);
    const size_t known = known_size(error);
    if (known <= start) return;
    size_t room = known - start - 1;
    char* to = error.message;
    const auto append = [&](std::string_view piece) {
        const std::string_view part = cut(piece, room);
        to = std::copy(part.begin(), part.end(), to);
        room = part.size() == piece.size() ? room - part.size() : 0;
    };
    if (!function.empty()) {
        append(function);
        append(": ");
    }
    append(message);
    *to = '\0';
}

// False: another thread has done it.
bool mark_entered() {
    const Lock lock(entrance);
    if (process_state == Process::Entered) return false;
    const int failed = pthread_atfork(before_fork, after_fork, [] {
        process_state = Process::Forked;
        after_fork();
        close_in_forked_child();
    });
    if (failed != 0) {
        throw Refusal(TUTTI_ERR_OUT_OF_MEMORY, cat("pthread_atfork: ", errno_text(failed)), -1,
                      failed);
    }
    process_state = Process::Entered;
    return true;
}

// The stack of the thread that gets the error: for a work, the one that waits for it.
void show_call_stack(const Status& status, std::string_view function) noexcept {
    try {
        notice(LogLevel::Error, cat(std::string(function), function.empty() ? "" : ": ",
                                    status.message, " (called by ", call_stack(), ")"));
    } catch (const std::bad_alloc&) {  // then without
    }
}

}  // namespace

void enter_first_time() {
    if (forked()) {
        throw Refusal(
            TUTTI_ERR_UNSUPPORTED,
            "this process was forked from one that uses tutti, and only the parent can go "
            "on using it; call exec after fork, use tutti only in the child, or start the "
            "child with tutti_spawn");
    }
    if (mark_entered()) profile::find_tool();
}

tutti_status report(const Status& status, std::string_view function, tutti_error* error) noexcept {
    const tutti_status code = status.ok() ? TUTTI_ERR_INTERNAL : status.code;
    if (shows_call_stacks()) show_call_stack(status, function);
    if (error == nullptr || known_size(*error) < offsetof(tutti_error, message)) return code;
    error->status = code;
    error->rank = status.rank;
    error->system_errno = status.system_errno;
    write_message(*error, function, status.message);
    return code;
}

}  // namespace tutti::capi
