// tuttirun: parse, serve the store, plan, supervise. The store's server has a thread of its own;
// all else happens here, on the main thread.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <span>
#include <utility>

#include "options.hpp"
#include "plan.hpp"
#include "process.hpp"
#include "signals.hpp"
#include "store/store.hpp"
#include "supervisor.hpp"

namespace {

using namespace tutti::launch;

constexpr int exit_failure = 1;
constexpr int exit_usage = 2;
constexpr int exit_cannot_run = 127;

// Pipes must not take the numbers 0, 1 and 2, whatever we were started with.
void open_standard_descriptors() {
    int number = 0;
    do {
        number = ::open("/dev/null", O_RDWR);
    } while (number >= 0 && number <= STDERR_FILENO);
    if (number >= 0) ::close(number);
}

void complain(const char* sentence) {
    std::fprintf(stderr, "tuttirun: %s\n", sentence);
}

int run(const Options& options) {
    auto program = find_program(options.command.front());
    SignalInbox signals;
    const auto server = tutti::make_store_server(options.master_addr, options.master_port);
    Supervisor supervisor(std::move(program), options, signals);
    size_t count = 0;
    while (environ[count] != nullptr) ++count;
    return supervisor.run(plan_workers(options, {environ, count}, server->port()));
}

}  // namespace

int main(int count, char** arguments) {
    open_standard_descriptors();
    Options options;
    try {
        const std::span<const char* const> all(arguments, static_cast<size_t>(count));
        options = parse_options(all.subspan(count > 0 ? 1 : 0));
    } catch (const std::exception& fault) {
        complain(fault.what());
        complain("see tuttirun --help");
        return exit_usage;
    }
    if (options.action == Options::Action::Help) {
        std::fputs(help_text().c_str(), stdout);
        return 0;
    }
    if (options.action == Options::Action::Version) {
        std::puts("tuttirun " TUTTI_VERSION);
        return 0;
    }
    try {
        return run(options);
    } catch (const CannotRun& fault) {
        complain(fault.what());
        return exit_cannot_run;
    } catch (const std::exception& fault) {
        complain(fault.what());
        return exit_failure;
    }
}
