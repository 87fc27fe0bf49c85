// tuttirun: parse, then run the job. The store's server and the watch over other nodes have threads
// of their own; all else happens here, on the main thread.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <span>
#include <string>

#include "base/environment.hpp"
#include "base/exit_status.hpp"
#include "guard.hpp"
#include "help.hpp"
#include "inspect.hpp"
#include "interruptible.hpp"
#include "job.hpp"
#include "options.hpp"
#include "settings.hpp"
#include "signals.hpp"

namespace {

using namespace tutti::launch;

constexpr int exit_failure = 1;
constexpr int exit_usage = 2;

// Pipes must not take the numbers 0, 1 and 2, whatever we were started with.
void open_standard_descriptors() {
    int number = 0;
    do {
        number = ::open("/dev/null", O_RDWR);
    } while (number >= 0 && number <= STDERR_FILENO);
    if (number >= 0) ::close(number);
}

void complain(const std::string& sentence) {
    std::fprintf(stderr, "tuttirun: %s\n", sentence.c_str());
}

// Output that cannot be written is a failure.
int show(const std::string& text) {
    if (std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0) return 0;
    complain(tutti::cat("cannot write to standard output: ", tutti::errno_text(errno)));
    return exit_failure;
}

// Descendants of a rank that ends become children of this process, which sees them to their end.
class Adoption {
public:
    Adoption() { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }
    // None that has ended is left to whoever adopts the rest.
    ~Adoption() {
        while (::waitpid(-1, nullptr, WNOHANG) > 0) {
        }
    }
    Adoption(const Adoption&) = delete;
    Adoption& operator=(const Adoption&) = delete;
};

int run(const Options& options) {
    const Adoption adoption;
    const Guard guard;
    SignalInbox signals(options.signals);
    size_t count = 0;
    while (environ[count] != nullptr) ++count;
    try {
        return Job(options, {environ, count}, signals, guard).run();
    } catch (const Interrupted& interrupted) {
        complain(
            tutti::cat("got ", tutti::signal_text(interrupted.number), " before the ranks ran"));
        return 128 + interrupted.number;
    }
}

}  // namespace

int main(int count, char** arguments) {
    open_standard_descriptors();
    Options options;
    try {
        const std::span<const char* const> all(arguments, static_cast<size_t>(count));
        options = parse_options(all.subspan(count > 0 ? 1 : 0), tutti::environment_by_name);
    } catch (const std::exception& fault) {
        complain(fault.what());
        complain("see tuttirun --help");
        return exit_usage;
    }
    if (options.action == Options::Action::Help) return show(help_text());
    if (options.action == Options::Action::Settings) return show(settings_text(options));
    if (options.action == Options::Action::Version) return show("tuttirun " TUTTI_VERSION "\n");
    try {
        if (options.action == Options::Action::Attach) attach(options.inspection);
        if (options.action == Options::Action::Stacks) {
            show_stacks(options.inspection);
            return 0;
        }
    } catch (const std::exception& fault) {
        complain(fault.what());
        return exit_failure;
    }
    if (!options.notice.empty()) complain(options.notice);
    try {
        return run(options);
    } catch (const std::exception& fault) {
        complain(fault.what());
        return exit_failure;
    }
}
