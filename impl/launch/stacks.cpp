#include "stacks.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>

#include "base/error.hpp"
#include "base/first_line.hpp"
#include "base/resource_limits.hpp"
#include "process.hpp"

namespace tutti::launch {

namespace {

bool is_there(const char* program) {
    try {
        (void)find_program(program);
        return true;
    } catch (const CannotRun&) {
        return false;
    }
}

std::string command_for(pid_t process) {
    if (is_there("eu-stack")) return cat("exec eu-stack -p ", process);
    if (is_there("gdb")) {
        return cat("exec gdb -batch -nx -p ", process, " -ex 'thread apply all backtrace'");
    }
    throw Error(TUTTI_ERR_UNSUPPORTED,
                "stacks need eu-stack, of the package elfutils, or gdb; neither is in PATH");
}

}  // namespace

std::string stacks_of(pid_t process) {
    const std::string command = command_for(process) + " 2>&1 </dev/null";
    const std::unique_ptr<FILE, int (*)(FILE*)> output(::popen(command.c_str(), "re"), ::pclose);
    if (!output) throw system_error(TUTTI_ERR_INTERNAL, "cannot run a shell", errno);
    std::string text;
    std::array<char, 4096> piece{};
    while (const size_t size = std::fread(piece.data(), 1, piece.size(), output.get())) {
        text.append(piece.data(), size);
    }
    return text;
}

std::string stacks_of(const RunningRank& rank, const std::string& host) {
    return cat("rank ", rank.rank, ", host ", host, ", process ", rank.process, ":\n",
               stacks_of(rank.process));
}

std::string tracing_obstacle() {
    const std::string scope = first_line("/proc/sys/kernel/yama/ptrace_scope");
    if (scope.empty() || scope == "0" || (scope != "3" && ::geteuid() == 0)) return "";
    return cat("kernel.yama.ptrace_scope is ", scope,
               ": only root may look into a process that has not asked for it, as one in "
               "tutti_breakpoint does");
}

}  // namespace tutti::launch
