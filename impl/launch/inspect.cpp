#include "inspect.hpp"

#include <limits.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/resource_limits.hpp"
#include "process.hpp"
#include "running_jobs.hpp"
#include "stacks.hpp"

namespace tutti::launch {

namespace {

std::string host_name() {
    std::array<char, HOST_NAME_MAX + 1> name{};
    ::gethostname(name.data(), name.size() - 1);
    return name.data();
}

// The kernel refuses: the tool's own words come as well.
void say_obstacle() {
    const std::string obstacle = tracing_obstacle();
    if (!obstacle.empty()) std::fprintf(stderr, "tuttirun: %s\n", obstacle.c_str());
}

}  // namespace

void attach(const Inspection& what) {
    const RunningJob job = choose_job(what.job);
    const RunningRank rank = choose_rank(job, what.ranks.at(0));
    const std::string gdb = find_program("gdb");
    std::vector<std::string> arguments{"gdb", "-p", std::to_string(rank.process)};
    arguments.insert(arguments.end(), what.arguments.begin(), what.arguments.end());
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    say_obstacle();
    std::fprintf(stderr, "tuttirun: gdb on rank %d, host %s, process %d\n", rank.rank,
                 host_name().c_str(), static_cast<int>(rank.process));
    ::execv(gdb.c_str(), pointers.data());
    throw system_error(TUTTI_ERR_INTERNAL, cat("cannot run ", gdb), errno);
}

void show_stacks(const Inspection& what) {
    const RunningJob job = choose_job(what.job);
    std::vector<RunningRank> ranks = job.ranks;
    if (!what.ranks.empty()) {
        ranks.clear();
        for (const int rank : what.ranks) ranks.push_back(choose_rank(job, rank));
    }
    say_obstacle();
    const std::string host = host_name();
    for (const RunningRank& rank : ranks) {
        const std::string text = stacks_of(rank, host);
        if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0) {
            throw system_error(TUTTI_ERR_INTERNAL, "cannot write to standard output", errno);
        }
    }
}

}  // namespace tutti::launch
