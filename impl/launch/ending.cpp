// Words for endings. Any thread, no side effects.
#include "ending.hpp"

#include <cstring>

#include "base/text.hpp"

namespace tutti::launch {

std::string signal_text(int number) {
    const char* name = ::sigabbrev_np(number);  // real-time signals have none
    auto text = cat("signal ", number);
    if (name != nullptr) text += cat(" (SIG", name, ")");
    return text;
}

std::string describe(const Ending& ending) {
    if (!ending.by_signal) return cat("exited with code ", ending.number);
    return cat("was killed by ", signal_text(ending.number),
               ending.core_dumped ? ", core dumped" : "");
}

}  // namespace tutti::launch
