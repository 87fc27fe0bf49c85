// Threads of the library: named, and deaf to signals, which belong to the program's own threads.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "resource_limits.hpp"

namespace tutti {

// Blocks all signals while it lives; a thread made meanwhile starts with them blocked.
class SignalsBlocked {
public:
    SignalsBlocked() noexcept {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    SignalsBlocked(const SignalsBlocked&) = delete;
    SignalsBlocked& operator=(const SignalsBlocked&) = delete;

private:
    sigset_t before_{};
};

// `name` has at most 15 characters. Throws OUT_OF_MEMORY, naming limits, if there can be no thread.
template <typename Function>
std::thread start_thread(const char* name, Function&& function) {
    const SignalsBlocked blocked;
    try {
        // It names itself, for which no file is opened.
        return std::thread(
            [](const std::string& own_name, auto body) {
                pthread_setname_np(pthread_self(), own_name.c_str());
                body();
            },
            std::string(name), std::forward<Function>(function));
    } catch (const std::system_error& error) {
        throw thread_error(cat("cannot start the thread ", name), error.code().value());
    }
}

}  // namespace tutti
