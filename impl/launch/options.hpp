// What tuttirun was asked to do: its command line as a value. Any thread, no side effects.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tutti::launch {

struct Options {
    enum class Action { Run, Help, Version };

    Action action = Action::Run;
    int nproc_per_node = 1;
    std::string master_addr = "127.0.0.1";
    int master_port = 0;  // 0: any free one
    int64_t shutdown_timeout_ms = 5'000;
    std::vector<std::string> command;  // the program and its arguments
};

// Words in names may be joined by - or _, values by = or a space. INVALID_ARGUMENT names the
// option that is unknown, malformed or lacks its value.
Options parse_options(std::span<const char* const> arguments);

std::string help_text();

}  // namespace tutti::launch
