#include "votes.hpp"

#include <sstream>

#include "base/text.hpp"

namespace tutti {

CallOfMany CallOfMany::decode(const std::string& text) {
    const size_t end = text.find('\n');
    return {text.substr(0, end), end == std::string::npos ? "" : text.substr(end + 1)};
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
    fields >> code >> vote.why_not.rank >> vote.why_not.system_errno;
    fields.get();
    vote.why_not.code = static_cast<tutti_status>(code);
    std::getline(fields, vote.why_not.message, '\0');
    return vote;
}

}  // namespace tutti
