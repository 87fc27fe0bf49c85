#include "debugger.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string_view>

#include "open_descriptors.hpp"

namespace tutti {

bool is_traced() noexcept {
    const int file =
        open_tracked([] { return ::open("/proc/thread-self/status", O_RDONLY | O_CLOEXEC); });
    if (file < 0) return false;
    std::array<char, 4096> text{};
    const ssize_t size = ::read(file, text.data(), text.size() - 1);
    close_tracked(file);
    if (size <= 0) return false;
    constexpr std::string_view field = "\nTracerPid:";
    const size_t place = std::string_view(text.data(), static_cast<size_t>(size)).find(field);
    return place != std::string_view::npos &&
           std::strtol(text.data() + place + field.size(), nullptr, 10) != 0;
}

// It fails where there is no Yama, and is not needed there.
OpenToDebuggers::OpenToDebuggers() noexcept {
    (void)::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
}

OpenToDebuggers::~OpenToDebuggers() {
    (void)::prctl(PR_SET_PTRACER, 0, 0, 0, 0);
}

// The debugger takes the signal away. If it has gone meanwhile, the handler does.
void stop_in_debugger() noexcept {
    struct sigaction quiet = {};
    quiet.sa_handler = [](int) {};
    quiet.sa_flags = SA_ONSTACK | SA_RESTART;
    struct sigaction before = {};
    sigset_t trap;
    sigset_t mask;
    sigemptyset(&trap);
    sigaddset(&trap, SIGTRAP);
    ::sigaction(SIGTRAP, &quiet, &before);
    ::pthread_sigmask(SIG_UNBLOCK, &trap, &mask);
    ::syscall(SYS_tgkill, ::getpid(), ::syscall(SYS_gettid), SIGTRAP);
    ::pthread_sigmask(SIG_SETMASK, &mask, nullptr);
    ::sigaction(SIGTRAP, &before, nullptr);
}

}  // namespace tutti
