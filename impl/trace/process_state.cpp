#include "process_state.hpp"

#include <sstream>
#include <string>

#include "base/first_line.hpp"
#include "base/text.hpp"

namespace tutti::trace {

ProcessState process_state(uint64_t pid, uint64_t start) {
    const std::string line = first_line(cat("/proc/", pid, "/stat"));
    // The name of the program, in parentheses, may have anything in it.
    const size_t name_end = line.rfind(')');
    if (name_end == std::string::npos) return ProcessState::Ended;
    std::istringstream fields(line.substr(name_end + 1));
    char state = 0;
    fields >> state;
    std::string skipped;
    for (int field = 4; field < 22; ++field) fields >> skipped;
    uint64_t started = 0;
    fields >> started;
    if (!fields || started != start || state == 'Z' || state == 'X') return ProcessState::Ended;
    if (state == 'T') return ProcessState::Stopped;
    return state == 't' ? ProcessState::Traced : ProcessState::Running;
}

}  // namespace tutti::trace
