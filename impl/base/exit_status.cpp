// Words for endings, and a look into /proc. Any thread, no side effects.
#include "exit_status.hpp"

#include <cstring>
#include <fstream>
#include <sstream>

#include "open_descriptors.hpp"
#include "text.hpp"

namespace tutti {

std::string signal_text(int number) {
    const char* name = ::sigabbrev_np(number);  // real-time signals have none
    auto text = cat("signal ", number);
    if (name != nullptr) text += cat(" (SIG", name, ")");
    return text;
}

std::string describe(const ExitStatus& ending) {
    if (!ending.by_signal) return cat("exited with code ", ending.number);
    return cat("was killed by ", signal_text(ending.number),
               ending.core_dumped ? ", core dumped" : "");
}

bool is_exiting(pid_t child) {
    constexpr unsigned long exiting_flag = 0x4;  // PF_EXITING of the kernel
    const StandardPlaceholders held;
    std::ifstream file(cat("/proc/", static_cast<int>(child), "/stat"));
    std::string text;
    std::getline(file, text, '\0');
    // The program's name, in brackets, may hold anything; the flags are the seventh word after it.
    const auto name_end = text.rfind(')');
    if (name_end == std::string::npos) return false;
    std::istringstream words(text.substr(name_end + 1));
    std::string skipped;
    for (int word = 1; word < 7; ++word) words >> skipped;
    unsigned long flags = 0;
    words >> flags;
    return (flags & exiting_flag) != 0;
}

}  // namespace tutti
