// Troubles in the collectives of each group: the first that has not ended, or has failed. Who is in
// it, who has not come, who cannot go on, and whose call differs.
#include <algorithm>
#include <map>
#include <optional>

#include "base/text.hpp"
#include "collective.hpp"
#include "findings.hpp"
#include "whereabouts.hpp"

namespace tutti::trace {

namespace {

// "ranks 0, 1 and 3 have waited 12.3 s".
std::string waiting_text(const Findings& findings, const Collective& collective) {
    std::vector<size_t> running;
    for (const size_t member : collective.members(Part::Open)) {
        if (!findings.job.members[member].is_held()) running.push_back(member);
    }
    if (running.empty()) return "";
    const std::vector<int> ranks = findings.ranks_of(running);
    return cat(ranks_text(ranks), " ", has(ranks), " waited ",
               duration_text(findings.job.now - first_start(collective)));
}

// "it failed on ranks 0 and 1 with TIMEOUT 0.1 s ago".
std::string failure_text(const Findings& findings, const Collective& collective) {
    std::map<int, std::vector<size_t>> by_status;
    std::map<int, int64_t> last;
    for (const Share& share : collective.shares) {
        if (share.part != Part::Failed) continue;
        by_status[share.call->status()].push_back(share.member);
        last[share.call->status()] = std::max(last[share.call->status()], share.call->completed);
    }
    std::vector<std::string> parts;
    for (const auto& [status, members] : by_status) {
        parts.push_back(cat("with ", status_text(status), " on ",
                            ranks_text(findings.ranks_of(members)), " ",
                            duration_text(findings.job.now - last[status]), " ago"));
    }
    return parts.empty() ? "" : cat("it failed ", enumerate(parts));
}

std::string join(const std::vector<std::string>& parts) {
    std::string text;
    for (const std::string& part : parts) {
        if (!part.empty()) text += cat(text.empty() ? "" : "; ", part);
    }
    return text;
}

// The ranks that have come to it and cannot go on.
std::vector<size_t> held_in(const Job& job, const Collective& collective) {
    std::vector<size_t> held;
    for (const Share& share : collective.shares) {
        const Member& member = job.members[share.member];
        if (share.part == Part::Missing || !member.is_held() || member.record.has_exited) continue;
        if (share.part != Part::Failed) held.push_back(share.member);
    }
    return held;
}

std::string held_text(const Findings& findings, const std::vector<size_t>& held) {
    std::vector<std::string> parts;
    for (const size_t member : held) {
        parts.push_back(cat("rank ", findings.job.members[member].rank, " is in it, but ",
                            fate(findings.job.members[member])));
    }
    return join(parts);
}

Trouble trouble_of(const Findings& findings, const Collective& collective, const char* kind) {
    Trouble trouble;
    trouble.kind = kind;
    trouble.waiting = findings.ranks_of(collective.members(Part::Open));
    trouble.group = collective.group.name;
    trouble.call = call_name(*collective.call);
    trouble.sequence = collective.sequence;
    trouble.since = first_start(collective);
    return trouble;
}

// `later`: the call in which the ranks are now, or saw that they differ; it may be the same.
bool add_mismatch(Findings& findings, const Collective& collective, const Collective& later) {
    const auto kinds = kinds_of(collective);
    if (kinds.size() < 2) return false;
    Trouble trouble = trouble_of(findings, collective, "mismatch");
    std::vector<std::string> parts;
    for (const auto& kind : kinds) {
        std::vector<size_t> members;
        for (const Share* const share : kind) members.push_back(share->member);
        const bool is_odd = &kind != &kinds.back() || kind.size() == kinds.front().size();
        if (is_odd) trouble.stuck.insert(trouble.stuck.end(), members.begin(), members.end());
        parts.push_back(
            cat(ranks_text(findings.ranks_of(members)), " called ", description(*kind[0]->call)));
    }
    std::string text = cat("mismatched calls under #", collective.sequence, " ",
                           of_group(collective.group.name), ": ", enumerate(parts));
    const bool is_same = later.sequence == collective.sequence;
    if (!is_same) text += cat("; then ", later.title);
    const std::string end = join({waiting_text(findings, later), failure_text(findings, later)});
    if (!end.empty()) text += cat(is_same ? "; " : ": ", end);
    trouble.sentence = text;
    trouble.ranks = findings.ranks_of(trouble.stuck);
    if (findings.is_wording) findings.troubles.push_back(std::move(trouble));
    return true;
}

// A rank that only sends, or does not wait, ends a call before others see that it differs.
bool add_mismatch_before(Findings& findings, const Collective& later) {
    constexpr uint64_t most = 16;
    const bool is_reported =
        std::any_of(later.shares.begin(), later.shares.end(), [](const Share& share) {
            return share.part == Part::Failed && share.call->status() == TUTTI_ERR_MISMATCH;
        });
    const uint64_t back = std::min(is_reported ? most : uint64_t{1}, later.sequence - 1);
    for (uint64_t i = 1; i <= back; ++i) {
        const auto before = collective_of(findings.job, later.group, later.sequence - i);
        if (add_mismatch(findings, before, later)) return true;
    }
    return false;
}

void add_missing(Findings& findings, const Collective& collective,
                 const std::vector<size_t>& missing, const std::vector<size_t>& held) {
    Trouble trouble = trouble_of(findings, collective, missing.empty() ? "held" : "missing");
    std::vector<int> slots;
    for (const Share& share : collective.shares) {
        if (share.part == Part::Missing) slots.push_back(share.slot);
    }
    // Once the whole job was ended, it does not matter how the ranks in it ended.
    const bool all_were_ended = !missing.empty() && have_all_ended(findings.job, collective);
    const std::string others =
        all_were_ended ? cat(ranks_text(trouble.waiting), " ended in it") : "";
    trouble.sentence =
        cat(collective.title, ": ",
            join({waiting_text(findings, collective), failure_text(findings, collective), others,
                  explain(findings, missing, slots, trouble.call, "not in it"),
                  all_were_ended ? "" : held_text(findings, held)}));
    trouble.stuck = missing;
    if (!all_were_ended) trouble.stuck.insert(trouble.stuck.end(), held.begin(), held.end());
    findings.add(std::move(trouble));
}

// A failure that a rank has by itself, not by what became of others.
bool is_own(int status) {
    return status != TUTTI_ERR_TIMEOUT && status != TUTTI_ERR_ABORTED &&
           status != TUTTI_ERR_PEER_LOST && status != TUTTI_ERR_NETWORK;
}

void add_failure(Findings& findings, const Collective& collective) {
    Trouble trouble = trouble_of(findings, collective, "failed");
    for (const Share& share : collective.shares) {
        if (share.part == Part::Failed && is_own(share.call->status())) {
            trouble.stuck.push_back(share.member);
        }
    }
    // A failure that all have in common is nobody's fault.
    if (trouble.stuck.size() == collective.shares.size()) trouble.stuck.clear();
    trouble.sentence = cat(collective.title, ": ",
                           join({failure_text(findings, collective),
                                 waiting_text(findings, collective), "all its ranks came to it"}));
    trouble.ranks = findings.ranks_of(trouble.stuck);
    if (findings.is_wording) findings.troubles.push_back(std::move(trouble));
}

void add_slow(Findings& findings, const Collective& collective) {
    int64_t last = 0;
    for (const Share& share : collective.shares) {
        if (share.part == Part::Open) last = std::max(last, start_of(*share.call));
    }
    if (!findings.is_long(last)) return;
    Trouble trouble = trouble_of(findings, collective, "slow");
    const std::vector<int> done = findings.ranks_of(collective.members(Part::Done));
    const std::string rest =
        done.empty() ? "" : cat("; ", ranks_text(done), " ", has(done), " completed it");
    trouble.sentence = cat(
        collective.title, ": ", ranks_text(trouble.waiting), " ", has(trouble.waiting),
        " been in it for ", duration_text(findings.job.now - trouble.since), ", and all its ranks ",
        "have come, the last ", duration_text(findings.job.now - last), " ago", rest);
    findings.add(std::move(trouble));
}

void add_waits(Findings& findings, const Collective& collective) {
    const Job& job = findings.job;
    std::vector<size_t> for_whom = collective.members(Part::Missing);
    const std::vector<size_t> held = held_in(job, collective);
    for_whom.insert(for_whom.end(), held.begin(), held.end());
    for (const Share& share : collective.shares) {
        if (share.part != Part::Open || !waits_in(job.members[share.member], *share.call)) continue;
        findings.add_waits(share.member, for_whom, collective.title);
    }
}

void look_at(Findings& findings, const JobGroup& group) {
    std::optional<uint64_t> first;
    std::map<uint64_t, bool> open;
    const auto consider = [&](const Call* call) {
        if (call != nullptr && (!first || call->sequence < *first)) first = call->sequence;
    };
    for (const Seat& seat : group.seats) {
        const First own = first_of(findings.job, seat);
        consider(own.open);
        consider(own.failed);
        if (own.open != nullptr) open[own.open->sequence] = true;
    }
    if (!findings.is_wording) {
        for (const auto& [sequence, is_open] : open) {
            add_waits(findings, collective_of(findings.job, group, sequence));
        }
        return;
    }
    if (!first) return;
    const Collective collective = collective_of(findings.job, group, *first);
    if (add_mismatch(findings, collective, collective)) return;
    if (add_mismatch_before(findings, collective)) return;
    const std::vector<size_t> missing = collective.members(Part::Missing);
    const std::vector<size_t> held = held_in(findings.job, collective);
    const bool has_failed = !collective.members(Part::Failed).empty();
    const bool is_urgent = has_failed || !held.empty() ||
                           std::any_of(missing.begin(), missing.end(), [&](size_t member) {
                               return findings.job.members[member].is_held();
                           });
    if (!missing.empty() || !held.empty()) {
        if (is_urgent || findings.is_long(first_start(collective))) {
            add_missing(findings, collective, missing, held);
        }
    } else if (has_failed) {
        add_failure(findings, collective);
    } else {
        add_slow(findings, collective);
    }
}

}  // namespace

void find_in_collectives(Findings& findings) {
    for (const JobGroup& group : findings.job.groups) look_at(findings, group);
}

}  // namespace tutti::trace
