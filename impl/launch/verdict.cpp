// Verdicts as text. Any thread.
#include "verdict.hpp"

#include "base/environment.hpp"
#include "fields.hpp"
#include "limits.hpp"

namespace tutti::launch {

std::string encode(const Verdict& verdict) {
    return join_fields({std::to_string(static_cast<int>(verdict.kind)),
                        std::to_string(verdict.node), verdict.host, std::to_string(verdict.signal),
                        verdict.text});
}

Verdict decode_verdict(const std::string& text) {
    constexpr size_t count = 5;
    constexpr int highest_signal = 64;
    const auto fields = split_fields(text, count);
    const std::string what = "a number in the verdict of another node";
    Verdict verdict;
    verdict.kind = static_cast<Verdict::Kind>(
        parse_number(fields[0], what, 0, static_cast<int>(Verdict::Kind::Lost)));
    verdict.node = static_cast<int>(parse_number(fields[1], what, -1, limits::nodes));
    verdict.host = fields[2];
    verdict.signal = static_cast<int>(parse_number(fields[3], what, 0, highest_signal));
    verdict.text = fields[4];
    return verdict;
}

}  // namespace tutti::launch
