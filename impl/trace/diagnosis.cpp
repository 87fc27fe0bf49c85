#include "diagnosis.hpp"

#include <algorithm>
#include <functional>
#include <set>

#include "base/text.hpp"
#include "findings.hpp"
#include "whereabouts.hpp"

namespace tutti::trace {

namespace {

void add_circles(Findings& findings) {
    const Job& job = findings.job;
    for (const auto& circle : findings.waits.circles()) {
        std::vector<size_t> members;
        std::vector<std::string> parts;
        for (size_t i = 0; i < circle.size(); ++i) {
            members.push_back(circle[i].who);
            parts.push_back(cat("rank ", job.members[circle[i].who].rank, " for rank ",
                                job.members[circle[(i + 1) % circle.size()].who].rank, " in ",
                                circle[i].where));
        }
        Trouble trouble;
        trouble.kind = "cycle";
        trouble.ranks = findings.ranks_of(members);
        trouble.waiting = trouble.ranks;
        const bool are_two = circle.size() == 2;
        trouble.sentence =
            cat(ranks_text(trouble.ranks),
                are_two ? " wait for each other: " : " wait in a circle: ", enumerate(parts));
        findings.troubles.push_back(std::move(trouble));
    }
}

// A rank that ended badly, or is held, and that nobody waits for.
void add_lone_ends(Findings& findings) {
    std::set<int> named;
    for (const Trouble& trouble : findings.troubles) {
        named.insert(trouble.ranks.begin(), trouble.ranks.end());
        named.insert(trouble.waiting.begin(), trouble.waiting.end());
    }
    for (size_t i = 0; i < findings.job.members.size(); ++i) {
        const Member& member = findings.job.members[i];
        if (named.count(member.rank) != 0 || !member.is_held()) continue;
        const bool is_bad = member.ending ? member.ending->failed() : !member.record.has_exited;
        if (!is_bad) continue;
        Trouble trouble;
        trouble.kind = "ended";
        trouble.sentence =
            cat("rank ", member.rank, ": ", whereabouts(findings.job, member, -1, ""));
        trouble.ranks = {member.rank};
        trouble.stuck = {i};
        findings.troubles.push_back(std::move(trouble));
    }
}

// "it has" and "its last call", of several ranks.
std::string of_many(const std::string& place) {
    if (place.starts_with("it ")) return "each" + place.substr(2);
    return place.starts_with("its ") ? "their" + place.substr(3) : place;
}

int order_of(const Trouble& trouble) {
    if (!trouble.is_root) return 2;
    return trouble.kind == "ended" ? 1 : 0;
}

}  // namespace

std::vector<int> Findings::ranks_of(const std::vector<size_t>& members) const {
    std::vector<int> ranks;
    ranks.reserve(members.size());
    for (const size_t member : members) {
        if (job.members[member].rank >= 0) ranks.push_back(job.members[member].rank);
    }
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    return ranks;
}

void Findings::add(Trouble trouble) {
    if (!is_wording) return;
    const std::vector<size_t> ends = waits.roots(trouble.stuck);
    trouble.ranks = ranks_of(ends);
    trouble.is_root =
        trouble.stuck.empty() || std::any_of(trouble.stuck.begin(), trouble.stuck.end(),
                                             [&](size_t member) { return !waits.waits(member); });
    troubles.push_back(std::move(trouble));
}

bool waits_in(const Member& member, const Call& call) {
    if (member.is_held()) return false;
    if (!call.is_in_background()) return true;
    return std::none_of(
        member.record.calls.begin(), member.record.calls.end(),
        [](const Call& other) { return other.is_open() && !other.is_in_background(); });
}

std::string explain(const Findings& findings, const std::vector<size_t>& members,
                    const std::vector<int>& slots, const std::string& call,
                    const std::string& what) {
    constexpr size_t most = 4;
    std::vector<std::pair<std::string, std::vector<size_t>>> places;
    std::vector<size_t> others;
    for (size_t i = 0; i < members.size(); ++i) {
        const Member& member = findings.job.members[members[i]];
        const std::string place = whereabouts(findings.job, member, slots[i], call);
        const auto same = std::find_if(places.begin(), places.end(),
                                       [&](const auto& one) { return one.first == place; });
        if (same != places.end()) {
            same->second.push_back(members[i]);
        } else if (places.size() < most) {
            places.push_back({place, {members[i]}});
        } else {
            others.push_back(members[i]);
        }
    }
    std::string text;
    for (const auto& [place, who] : places) {
        const std::vector<int> ranks = findings.ranks_of(who);
        text += cat(text.empty() ? "" : "; ", ranks_text(ranks), " ", is(ranks), " ", what, ": ",
                    ranks.size() > 1 ? of_many(place) : place);
    }
    if (!others.empty()) {
        const std::vector<int> ranks = findings.ranks_of(others);
        text += cat("; ", ranks_text(ranks), " ", is(ranks), " ", what, " either");
    }
    return text;
}

std::vector<Trouble> diagnose(const Job& job, const Patience& patience) {
    Findings findings(job, patience);
    const auto look = [&] {
        find_in_collectives(findings);
        find_in_messages(findings);
        find_in_meetings(findings);
    };
    look();
    findings.waits.close();
    findings.is_wording = true;
    add_circles(findings);
    look();
    add_lone_ends(findings);
    std::stable_sort(findings.troubles.begin(), findings.troubles.end(),
                     [](const Trouble& a, const Trouble& b) { return order_of(a) < order_of(b); });
    return std::move(findings.troubles);
}

std::vector<std::string> sentences_of(const std::string& folder, const std::vector<Ending>& endings,
                                      const Patience& patience) {
    const Job job = read_job(record_files({folder}), endings);
    std::vector<std::string> sentences;
    const bool has_any = std::any_of(job.members.begin(), job.members.end(),
                                     [](const Member& member) { return member.has_record; });
    if (!has_any) return sentences;
    for (Trouble& trouble : diagnose(job, patience)) {
        sentences.push_back(std::move(trouble.sentence));
    }
    return sentences;
}

}  // namespace tutti::trace
