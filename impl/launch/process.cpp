// fork and exec. Other threads run while we fork, so the child makes only async-signal-safe calls,
// on memory prepared before. Main thread of the launcher.
#include "process.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "base/environment.hpp"
#include "base/first_line.hpp"
#include "base/resource_limits.hpp"

namespace tutti::launch {

namespace {

[[noreturn]] void cannot_run(const std::string& program, int fault) {
    throw CannotRun(TUTTI_ERR_INVALID_ARGUMENT,
                    cat("cannot run \"", program, "\": ", errno_text(fault)), -1, fault);
}

struct Pipe {
    net::Descriptor reading;
    net::Descriptor writing;
};

Pipe make_pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
        throw call_error("pipe2", "cannot make a pipe", errno);
    }
    return {net::Descriptor(ends[0]), net::Descriptor(ends[1])};
}

// For exec: pointers into `strings`, then NULL.
std::vector<char*> pointers(const std::vector<std::string>& strings) {
    std::vector<char*> result;
    result.reserve(strings.size() + 1);
    for (const auto& string : strings) result.push_back(const_cast<char*>(string.c_str()));
    result.push_back(nullptr);
    return result;
}

// For sched_setaffinity, with room for all numbers; empty for no processors.
std::vector<cpu_set_t> mask_of(const ProcessorSet& processors) {
    if (processors.empty()) return {};
    const auto blocks = static_cast<size_t>(processors.back()) / CPU_SETSIZE + 1;
    std::vector<cpu_set_t> mask(blocks);
    for (const int processor : processors) {
        CPU_SET_S(static_cast<size_t>(processor), blocks * sizeof(cpu_set_t), mask.data());
    }
    return mask;
}

[[noreturn]] void cannot_bind(const ProcessorSet& processors, int fault) {
    std::string text = "cannot bind a rank by sched_setaffinity to processor";
    for (const int processor : processors) {
        text += cat(processor == processors.front() ? " " : ", ", processor);
    }
    throw system_error(TUTTI_ERR_UNSUPPORTED, text, fault);
}

// The reason for which the child cannot become the program.
struct Report {
    enum class Step : int { Exec, Binding };

    int fault = 0;  // an errno
    Step step = Step::Exec;
};

// The data that the child needs between fork and exec.
struct Birth {
    const char* path;
    char* const* arguments;
    char* const* environment;
    int input;
    int out;
    int err;
    int report;  // receives a Report if exec fails
    pid_t parent;
    const cpu_set_t* processors;
    size_t processors_bytes;  // 0: it is not bound
};

[[noreturn]] void become(const Birth& birth) noexcept {
    constexpr int lost_parent = 127;  // nobody is there to read it
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != birth.parent) ::_exit(lost_parent);  // it died before the line above
    ::setpgid(0, 0);
    sigset_t none;
    ::sigemptyset(&none);
    const bool bound = birth.processors_bytes == 0 ||
                       ::sched_setaffinity(0, birth.processors_bytes, birth.processors) == 0;
    const bool ready =
        bound && ::dup2(birth.input, STDIN_FILENO) >= 0 && ::dup2(birth.out, STDOUT_FILENO) >= 0 &&
        ::dup2(birth.err, STDERR_FILENO) >= 0 && ::sigprocmask(SIG_SETMASK, &none, nullptr) == 0;
    if (ready) ::execve(birth.path, birth.arguments, birth.environment);
    const Report report{errno, bound ? Report::Step::Exec : Report::Step::Binding};
    [[maybe_unused]] const auto written = ::write(birth.report, &report, sizeof report);
    ::_exit(lost_parent);
}

// Without a fault when the exec of the child has closed the pipe.
Report read_report(int pipe) {
    Report report;
    ssize_t size = 0;
    do {
        size = ::read(pipe, &report, sizeof report);
    } while (size < 0 && errno == EINTR);
    return size == sizeof report ? report : Report{};
}

// 0 if the file may be executed, else the errno.
int executable_fault(const std::string& path) {
    struct stat status = {};
    if (::stat(path.c_str(), &status) != 0) return errno;
    if (!S_ISREG(status.st_mode)) return EACCES;
    return ::access(path.c_str(), X_OK) == 0 ? 0 : errno;
}

// The group of a process as its stat file has it: "PID (NAME) STATE PARENT GROUP ..."; 0: unknown.
pid_t group_of(const std::string& process) {
    const std::string stat = first_line(cat("/proc/", process, "/stat"));
    int parent = 0;
    int group = 0;
    const size_t name_end = stat.rfind(')');
    if (name_end == stat.npos) return 0;
    return std::sscanf(stat.c_str() + name_end, ") %*c %d %d", &parent, &group) == 2 ? group : 0;
}

bool handles_sigterm(const std::string& process) {
    std::ifstream file(cat("/proc/", process, "/status"));
    for (std::string line; std::getline(file, line);) {
        if (!line.starts_with("SigCgt:")) continue;
        return (std::strtoull(line.c_str() + 7, nullptr, 16) >> (SIGTERM - 1) & 1) != 0;
    }
    return true;
}

}  // namespace

void end_who_missed_the_signal(pid_t group) {
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", none)) {
        const std::string name = entry.path().filename();
        int process = 0;
        std::from_chars(name.data(), name.data() + name.size(), process);
        if (process == 0 || group_of(name) != group || handles_sigterm(name)) continue;
        ::kill(process, SIGTERM);
    }
}

std::string find_program(const std::string& name) {
    int fault = ENOENT;
    if (name.find('/') != std::string::npos) {
        fault = executable_fault(name);
        if (fault == 0) return name;
    } else if (!name.empty()) {
        const auto path = environment("PATH").value_or("/usr/local/bin:/usr/bin:/bin");
        for (size_t start = 0; start <= path.size();) {
            const auto end = std::min(path.find(':', start), path.size());
            const auto folder = path.substr(start, end - start);
            const auto candidate = cat(folder.empty() ? "." : folder, "/", name);
            const int candidate_fault = executable_fault(candidate);
            if (candidate_fault == 0) return candidate;
            // A file that is there but must not be executed says more than those not there.
            if (candidate_fault == EACCES) fault = EACCES;
            start = end + 1;
        }
    }
    cannot_run(name, fault);
}

Process start_process(const Executable& program, const std::vector<std::string>& environment,
                      int input, const ProcessorSet& processors) {
    const auto mask = mask_of(processors);
    const auto argument_pointers = pointers(program.arguments);
    const auto environment_pointers = pointers(environment);
    Pipe out = make_pipe();
    Pipe err = make_pipe();
    Pipe report = make_pipe();
    const Birth birth{program.path.c_str(),
                      argument_pointers.data(),
                      environment_pointers.data(),
                      input,
                      out.writing.get(),
                      err.writing.get(),
                      report.writing.get(),
                      ::getpid(),
                      mask.data(),
                      mask.size() * sizeof(cpu_set_t)};
    const pid_t child = ::fork();
    if (child < 0) throw process_error("cannot start a process", errno);
    if (child == 0) become(birth);

    report.writing.reset();
    if (const Report from_child = read_report(report.reading.get()); from_child.fault != 0) {
        ::waitpid(child, nullptr, 0);
        if (from_child.step == Report::Step::Binding) cannot_bind(processors, from_child.fault);
        cannot_run(program.path, from_child.fault);
    }
    ::fcntl(out.reading.get(), F_SETFL, O_NONBLOCK);
    ::fcntl(err.reading.get(), F_SETFL, O_NONBLOCK);
    return {child, std::move(out.reading), std::move(err.reading)};
}

}  // namespace tutti::launch
