// tuttitrace: reads the records of a job and prints a report. One thread.
#include <cerrno>
#include <cstdio>
#include <exception>
#include <fstream>
#include <string>

#include "base/error.hpp"
#include "command_line.hpp"
#include "reports.hpp"
#include "torch.hpp"

namespace {

using namespace tutti::trace;

constexpr int exit_failure = 1;
constexpr int exit_usage = 2;
constexpr size_t calls_of_table = 5;
constexpr size_t calls_of_timeline = 50;

void complain(const std::string& sentence) {
    std::fprintf(stderr, "tuttitrace: %s\n", sentence.c_str());
}

int show(const std::string& text) {
    if (std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0) return 0;
    complain(tutti::cat("cannot write to standard output: ", tutti::errno_text(errno)));
    return exit_failure;
}

bool write_file(const std::string& name, const std::string& content) {
    std::ofstream file(name, std::ios::binary | std::ios::trunc);
    file << content;
    file.close();
    if (file) return true;
    complain(tutti::cat("cannot write ", name, ": ", tutti::errno_text(errno)));
    return false;
}

int write_torch(const Job& job, const std::string& prefix) {
    std::string names;
    for (const Member& member : job.members) {
        if (!member.has_record || member.rank < 0) continue;
        const std::string name = tutti::cat(prefix, member.rank);
        const bool is_written = write_file(name, torch_pickle(member.record)) &&
                                write_file(name + ".json", torch_json(member.record));
        if (!is_written) return exit_failure;
        names += tutti::cat(name, "\n");
    }
    return show(names);
}

size_t or_default(size_t value, size_t otherwise) {
    return value == 0 ? otherwise : value;
}

int report(const Job& job, const CommandLine& line) {
    constexpr double nanoseconds = 1e9;
    const auto troubles = [&] {
        return diagnose(job, {static_cast<int64_t>(line.patience * nanoseconds)});
    };
    switch (line.report) {
        case Report::Table:
            return show(table_text(job, or_default(line.last, calls_of_table)));
        case Report::Timeline:
            return show(timeline_text(job, or_default(line.last, calls_of_timeline)));
        case Report::Stragglers:
            return show(stragglers_text(job));
        case Report::Perfetto:
            return show(perfetto_json(job));
        case Report::Json:
            return show(troubles_json(job, troubles()));
        case Report::Torch:
            return write_torch(job, line.prefix);
        default:
            return show(troubles_text(job, troubles()));
    }
}

int run(const CommandLine& line) {
    if (line.report == Report::Help) return show(help_text());
    if (line.report == Report::Version) return show("tuttitrace " TUTTI_VERSION "\n");
    const auto files = line.places.empty() ? newest_job() : record_files(line.places);
    const Job job = read_job(files, {});
    for (const std::string& remark : job.remarks) complain(remark);
    for (const Member& member : job.members) {
        if (member.has_record) return report(job, line);
    }
    if (job.remarks.empty()) {
        complain(line.places.empty() ? "this user has no record of a job"
                                     : "there is no record: no file *.ring");
    }
    return exit_failure;
}

}  // namespace

int main(int argc, char** argv) {
    CommandLine line;
    try {
        line = parse_command_line({argv + (argc > 0 ? 1 : 0), argv + argc});
    } catch (const tutti::Error& error) {
        complain(tutti::cat(error.what(), "; tuttitrace --help"));
        return exit_usage;
    }
    try {
        return run(line);
    } catch (const std::exception& error) {
        complain(error.what());
        return exit_failure;
    }
}
