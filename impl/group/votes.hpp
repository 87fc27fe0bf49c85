// The words of ranks in the decisions of Survivors and at the stores of a ListedMeeting, as texts.
// Any thread.
#pragma once

#include <string>

#include "base/status.hpp"

namespace tutti {

// The call that a rank is in, which must be the same on all, and what it adds.
struct CallOfMany {
    std::string function;
    std::string argument;
    std::string refusal{};  // why the rank takes no part, for its arguments; empty: it does

    [[nodiscard]] std::string encode() const { return function + "\n" + argument + "\n" + refusal; }
    static CallOfMany decode(const std::string& text);
    // Whether a decision that counts the words of an earlier call of this rank is one for this
    // call. A rank may have learned more of a group that it shrinks.
    [[nodiscard]] bool accepts(const CallOfMany& earlier) const {
        const bool may_differ = function == "shrink_group";
        return function == earlier.function && earlier.refusal.empty() &&
               (may_differ || argument == earlier.argument);
    }
};

// The argument of a shrink.
struct ShrinkTerms {
    bool has_failed = false;  // the group, as this rank knows
    int min_size = 1;

    [[nodiscard]] std::string encode() const;
    static ShrinkTerms decode(const std::string& text);
};

// Why a rank has not opened the new group, or the ranks have not met, with the rank there that is
// at fault; OK: they have.
struct Vote {
    Status why_not{};

    [[nodiscard]] std::string encode() const;
    static Vote decode(const std::string& text);
};

}  // namespace tutti
