#include "compare_calls.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "membership/membership.hpp"

namespace tutti {

namespace {

constexpr int64_t verdict_ms = 5000;  // what the reason of the rank that gave up may take

std::string list(const std::vector<int>& ranks) {
    constexpr size_t most = 8;
    std::string text = ranks.size() > 1 ? "ranks " : "rank ";
    for (size_t index = 0; index < std::min(ranks.size(), most); ++index) {
        text += cat(index > 0 ? ", " : "", ranks[index]);
    }
    if (ranks.size() > most) text += cat(" and ", ranks.size() - most, " others");
    return text;
}

// A rank's call, also as text: only that rank may know the name of its reduce function.
std::string claim(const Fingerprint& call, uint64_t sequence) {
    return to_bytes(call) + describe(call, sequence);
}

std::string bytes_of(const std::string& claim) {
    return claim.substr(0, sizeof(Fingerprint));
}

// "rank 2 called this, ranks 3, 4 called that while ranks 0, 1 called something else".
Status judge(const std::vector<std::string>& claims) {
    std::vector<std::vector<int>> sides;  // ranks with the same call
    for (int rank = 0; rank < static_cast<int>(claims.size()); ++rank) {
        const auto side = std::ranges::find_if(sides, [&](const std::vector<int>& ranks) {
            return bytes_of(claims[static_cast<size_t>(ranks.front())]) ==
                   bytes_of(claims[static_cast<size_t>(rank)]);
        });
        if (side == sides.end()) {
            sides.push_back({rank});
        } else {
            side->push_back(rank);
        }
    }
    if (sides.size() < 2) return {};
    std::string text;
    const auto say = [&](const std::vector<int>& ranks) {
        text += cat(list(ranks), " called ",
                    claims[static_cast<size_t>(ranks.front())].substr(sizeof(Fingerprint)));
    };
    for (size_t index = 1; index < sides.size(); ++index) {
        if (index > 1) text += ", ";
        say(sides[index]);
    }
    text += " while ";
    say(sides.front());
    return {TUTTI_ERR_MISMATCH, sides[1].front(), 0, text};
}

// A step of the membership that all ranks take.
struct Step {
    const char* key;
    std::string payload{};
    const char* omitted = "";     // "did not call it": of missing ranks
    bool names_all = true;        // of the missing ranks
    bool rank_0_decides = false;  // when the time is up; else any rank does
};

// One step of all ranks; TIMEOUT names the missing ones and what they did not do. The rank whose
// time was up says so for all.
std::vector<std::string> take_step(Membership& ranks, const Fingerprint& call, uint64_t sequence,
                                   const Step& step, const Deadline& deadline) {
    const auto stalled = [&] { ranks.stalled(sequence, to_bytes(call), describe(call, sequence)); };
    try {
        return ranks
            .take_step({.key = cat(step.key, "/", sequence),
                        .deadline_rank = step.rank_0_decides ? 0 : -1,
                        .stalled = stalled},
                       step.payload, deadline)
            .payloads;
    } catch (const StepTimedOut& absence) {
        const auto& missing = absence.missing;
        const bool has_judge = step.rank_0_decides && ranks.rank() != 0;
        const bool is_told = has_judge ? std::ranges::find(missing, 0) == missing.end()
                                       : !step.rank_0_decides && !deadline.expired();
        if (is_told) {
            if (const Status verdict = ranks.await_failure(Deadline::after_ms(verdict_ms));
                !verdict.ok()) {
                throw Error(verdict);
            }
        }
        if (has_judge || is_told) throw;
        const auto named = step.names_all ? missing : std::vector{missing.front()};
        std::string text;
        for (const int rank : named) text += cat(text.empty() ? "" : ", ", rank);
        throw Error(TUTTI_ERR_TIMEOUT,
                    cat(named.size() > 1 ? "ranks " : "rank ", text, " ", step.omitted, " in ",
                        deadline.timeout_ms(), " ms"),
                    missing.front());
    }
}

}  // namespace

void compare_calls(GroupCore& group, const Fingerprint& call, uint64_t sequence,
                   const Deadline& until) {
    if (group.identity.size == 1) return;
    const auto claims = take_step(
        *group.membership, call, sequence,
        {.key = "compare", .payload = claim(call, sequence), .omitted = "did not call it"}, until);
    if (const Status mismatch = judge(claims); !mismatch.ok()) throw Error(mismatch);
}

void take_barrier_step(GroupCore& group, const Fingerprint& call, uint64_t sequence,
                       bool wait_all_ranks, const Deadline& until) {
    if (group.identity.size == 1) return;
    take_step(*group.membership, call, sequence,
              {.key = "monitored_barrier",
               .omitted = "failed to pass the monitored barrier",
               .names_all = wait_all_ranks,
               .rank_0_decides = true},
              until);
}

void await_breakpoint_end(GroupCore& group, const Fingerprint& call, uint64_t sequence) {
    take_step(*group.membership, call, sequence, {.key = "breakpoint"}, Deadline::never());
}

}  // namespace tutti
