#include "agreement.hpp"

#include <algorithm>
#include <functional>

#include "base/error.hpp"
#include "base/fault_point.hpp"
#include "base/hash.hpp"
#include "ranks.hpp"

namespace tutti {

namespace {

constexpr size_t shown = 120;                 // bytes of an argument in a message
constexpr size_t short_text = 512;            // sent as it is
constexpr size_t max_text = 64 * 1024;        // sent to find a difference
constexpr const char* digest_mark = "\x01 ";  // no function has this name

using Lines = std::vector<std::string>;

Lines split_lines(const std::string& text) {
    Lines lines;
    for (size_t begin = 0; begin < text.size();) {
        const size_t end = std::min(text.find('\n', begin), text.size());
        lines.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return lines;
}

// As much of an argument as a message can show, with the place where it differs.
std::string excerpt(const std::string& text, size_t difference) {
    if (text.size() <= shown) return text;
    const size_t space = text.find(' ');
    const size_t head = std::min(space == text.npos ? 0 : space + 1, difference);
    const size_t begin = difference > shown / 2 ? difference - shown / 2 : head;
    return cat(text.substr(0, head), begin > head ? "..." : "", text.substr(begin, shown),
               begin + shown < text.size() ? "..." : "");
}

// "new_group with ranks 0-2, backend gloo": the function, and what differs.
struct Sides {
    std::string mine, theirs;
};
Sides compare(const Lines& mine, const Lines& theirs) {
    Sides sides;
    const char* between = " with ";
    for (size_t at = 1; at < std::min(mine.size(), theirs.size()); ++at) {
        if (mine[at] == theirs[at] || mine[0] != theirs[0]) continue;
        const auto pair = std::ranges::mismatch(mine[at], theirs[at]);
        const auto difference = static_cast<size_t>(pair.in1 - mine[at].begin());
        sides.mine += between + excerpt(mine[at], difference);
        sides.theirs += between + excerpt(theirs[at], difference);
        between = ", ";
    }
    return {mine[0] + sides.mine, theirs[0] + sides.theirs};
}

// The first participant's arguments count; every rank sees all, so all find the same.
void compare(const Agreement& step, const std::vector<std::string>& arguments) {
    const auto other = std::ranges::find_if(
        arguments, [&](const std::string& one) { return one != arguments.front(); });
    if (other == arguments.end()) return;
    const int rank = step.participants[static_cast<size_t>(other - arguments.begin())];
    const Sides sides = compare(split_lines(*other), split_lines(arguments.front()));
    throw Error(TUTTI_ERR_MISMATCH,
                cat("rank ", rank, " called ", sides.mine, " while rank ",
                    step.participants.front(), " called ", sides.theirs),
                rank);
}

// Long texts are sent in full only if they differ: all ranks get all texts.
std::string digest_of(const std::string& text) {
    if (text.size() <= short_text) return text;
    return cat(digest_mark, text.size(), " ", fnv1a_64(text), " ", fnv1a_64(digest_mark + text));
}
bool is_digest(const std::string& payload) {
    return payload.starts_with(digest_mark);
}

Membership::Step step_of(const Agreement& step) {
    return {.key = step.key, .participants = step.participants, .new_groups = step.new_groups};
}

}  // namespace

uint32_t agree(Membership& group, const Agreement& step, const Deadline& deadline) {
    std::string mine = step.function + "\n";
    for (const std::string& argument : step.arguments) mine += argument + "\n";
    try {
        const auto outcome = group.take_step(step_of(step), digest_of(mine), deadline);
        TUTTI_FAULT_POINT("agreement.wait");
        if (std::ranges::adjacent_find(outcome.payloads, std::not_equal_to()) ==
            outcome.payloads.end()) {
            return outcome.first_group_id;
        }
        if (std::ranges::none_of(outcome.payloads, is_digest)) compare(step, outcome.payloads);
        Membership::Step texts = step_of(step);
        texts.key += "/text";
        texts.new_groups = 0;
        mine.resize(std::min(mine.size(), max_text));
        compare(step, group.take_step(texts, mine, deadline).payloads);
        throw Error(TUTTI_ERR_MISMATCH,
                    cat("ranks called ", step.function, " with arguments that differ beyond their ",
                        "first ", max_text, " bytes"));
    } catch (const StepTimedOut& absence) {
        throw Error(have_not_called(absence, step.function, group.rank()));
    }
}

Status have_not_called(const StepTimedOut& absence, const std::string& function, int own_rank) {
    const std::vector<int>& missing = absence.missing;
    const bool is_late = std::ranges::find(missing, own_rank) != missing.end();
    Status status = awaited_in_vain(missing, cat("called ", function, is_late ? " in time" : ""));
    status.message = cat(is_late ? "others" : cat("rank ", own_rank), " ", status.message);
    return status;
}

Status refused_argument(int rank, const std::string& function, const std::string& why) {
    return {TUTTI_ERR_MISMATCH, rank, 0,
            cat("rank ", rank, " called ", function, " with an argument that was refused: ", why)};
}

void decline(Membership& group, const Agreement& step, const Status& why) noexcept {
    group.refuse(step_of(step), refused_argument(group.rank(), step.function, why.message));
}

void give_up(Membership& group, const Agreement& step, const Status& why) noexcept {
    Status cause = gave_up(group.rank(), why);
    cause.rank = group.rank();
    group.refuse(step_of(step), cause);
}

}  // namespace tutti
