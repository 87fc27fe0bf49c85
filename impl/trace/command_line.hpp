// The command line of tuttitrace as a value. Any thread.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tutti::trace {

enum class Report { Troubles, Table, Timeline, Stragglers, Perfetto, Json, Torch, Help, Version };

struct CommandLine {
    Report report = Report::Troubles;
    std::vector<std::string> places;  // folders and files; none: the newest job
    std::string prefix;               // of the files of --torch
    double patience = 1;              // seconds
    size_t last = 0;                  // calls; 0: as the report has it
};

// Throws INVALID_ARGUMENT with a sentence.
CommandLine parse_command_line(const std::vector<std::string>& arguments);
const char* help_text();

}  // namespace tutti::trace
