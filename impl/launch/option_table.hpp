// The options of tuttirun, one row each: read by the parser and by the help. Any thread.
#pragma once

#include <span>
#include <string>

#include "options.hpp"

namespace tutti::launch {

constexpr int default_rendezvous_port = 29'400;

struct ParsedProgram {
    Program program;
    bool module = false;
    bool run_path = false;
    bool no_python = false;
};

// Options while they are being read.
struct Parsed {
    Options options;
    ParsedProgram program;  // whose options are being read
    bool standalone = false;
    std::string master_addr;
    std::optional<int> master_port;
    std::optional<net::Endpoint> endpoint;
};

// The subject of an option: only those of a program may follow a ":".
enum class Scope { Job, Program };

struct OptionRow {
    const char* name;   // nullptr: a heading of the help, nothing else
    char letter;        // short form; 0: none
    const char* value;  // what the help calls it; nullptr: takes none
    const char* help;
    // `what` names the option, or the variable, in errors.
    void (*apply)(Parsed& parsed, const std::string& value, const std::string& what);
    Scope scope = Scope::Job;
};

std::span<const OptionRow> option_table();

}  // namespace tutti::launch
