#include "votes.hpp"

#include <sstream>

#include "base/text.hpp"

namespace tutti {

CallOfMany CallOfMany::decode(const std::string& text) {
    std::istringstream lines(text);
    CallOfMany call;
    std::getline(lines, call.function);
    std::getline(lines, call.argument);
    std::getline(lines, call.refusal, '\0');
    return call;
}

std::string ShrinkTerms::encode() const {
    return cat(has_failed ? 1 : 0, " ", min_size);
}

ShrinkTerms ShrinkTerms::decode(const std::string& text) {
    ShrinkTerms terms;
    std::istringstream(text) >> terms.has_failed >> terms.min_size;
    return terms;
}

std::string Vote::encode() const {
    return cat(static_cast<int>(why_not.code), " ", why_not.rank, " ", why_not.system_errno, " ",
               why_not.message);
}

Vote Vote::decode(const std::string& text) {
    std::istringstream fields(text);
    int code = TUTTI_OK;
    Vote vote;
    if (!(fields >> code >> vote.why_not.rank >> vote.why_not.system_errno)) {
        return {{TUTTI_ERR_NETWORK, -1, 0, cat("its answer is \"", text, "\"")}};
    }
    fields.get();
    vote.why_not.code = static_cast<tutti_status>(code);
    std::getline(fields, vote.why_not.message, '\0');
    return vote;
}

}  // namespace tutti
