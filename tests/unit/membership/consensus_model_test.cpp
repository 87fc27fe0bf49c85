// Decisions of the living, in every order of events: the arbiter, the replay log and the choice of
// the next coordinator are the library's own, connections are queues, and a search runs every
// interleaving of what comes, of deaths and of who notices them. At the end of each, all ranks that
// live have taken the same decisions.
//   consensus_model_test [--ranks N] [--deaths D] [--decisions K]
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "membership/arbiter.hpp"
#include "membership/missing_ranks.hpp"
#include "membership/replay_log.hpp"
#include "membership/succession.hpp"
#include "support/unit.hpp"

namespace {

using namespace tutti;
using namespace tutti::membership;

struct Bounds {
    int ranks = 3;
    int deaths = 1;
    int decisions = 1;
    bool gives_up = false;        // the highest rank may lose its patience, once
    std::vector<int> excluded{};  // by all others
};

template <typename Use>
void with_frame(const std::string& bytes, Use&& use) {
    FrameReader().feed(std::as_bytes(std::span(bytes)), [&](const Frame& frame) {
        use(frame);
        return true;
    });
}

struct Event {
    enum class Kind : uint8_t {
        Up,      // the coordinator reads the next frame of `rank`
        Down,    // `rank` reads the next frame of its coordinator
        Die,     // `rank` is killed
        Notice,  // its coordinator finds the connection of `rank` closed, and drops what came
        Follow,  // `rank` finds its coordinator gone
        Absent,  // the coordinator `rank` stops waiting for those that never came
        GiveUp   // the deadline of `rank` passes
    };
    Kind kind;
    int rank;
    bool operator==(const Event&) const = default;
    bool operator<(const Event& other) const {
        return std::pair(kind, rank) < std::pair(other.kind, other.rank);
    }
};

// The parts that an event changes: two that change different ones may come in either order.
struct Changes {
    std::set<int> ranks;
    std::set<int> arbiters;
    bool is_death = false;
    [[nodiscard]] bool meet(const Changes& other) const {
        const auto overlap = [](const std::set<int>& one, const std::set<int>& two) {
            return std::ranges::any_of(one, [&](int it) { return two.contains(it); });
        };
        return overlap(ranks, other.ranks) || overlap(arbiters, other.arbiters) ||
               (is_death && other.is_death);
    }
};

class Universe {
public:
    explicit Universe(const Bounds& bounds) : bounds_(bounds) {
        for (int rank = 0; rank < bounds.ranks; ++rank) {
            ranks_.emplace_back(rank, bounds.ranks);
            ranks_.back().succession.met(0, "host");
        }
        arbiters_[0] = make_arbiter(0);
        for (int rank = 0; rank < bounds.ranks; ++rank) arbiters_[0]->enter(rank);
        for (int rank = 0; rank < bounds.ranks; ++rank) propose(rank);
    }

    [[nodiscard]] std::vector<Event> enabled() const {
        std::vector<Event> all;
        for (int rank = 0; rank < bounds_.ranks; ++rank) {
            const Rank& it = at(rank);
            const int coordinator = it.succession.coordinator();
            const bool is_alone = it.succession.is_alone();
            const bool is_heard =
                !is_alone && at(coordinator).lives && arbiters_.contains(coordinator) && !it.is_cut;
            if (is_heard && !it.up.empty()) all.push_back({Event::Kind::Up, rank});
            if (is_heard && !it.lives) all.push_back({Event::Kind::Notice, rank});
            if (arbiters_.contains(rank) && it.lives && has_absent(rank))
                all.push_back({Event::Kind::Absent, rank});
            if (!it.lives) continue;
            if (!it.down.empty()) all.push_back({Event::Kind::Down, rank});
            if (!is_alone && !at(coordinator).lives) all.push_back({Event::Kind::Follow, rank});
            if (deaths_ < bounds_.deaths) all.push_back({Event::Kind::Die, rank});
            const bool may_give_up = bounds_.gives_up && rank == bounds_.ranks - 1 && !gave_up_;
            if (may_give_up && it.waits && !is_alone) all.push_back({Event::Kind::GiveUp, rank});
        }
        return all;
    }

    [[nodiscard]] Changes changes(const Event& event) const {
        const int coordinator = at(event.rank).succession.coordinator();
        switch (event.kind) {
            case Event::Kind::Up:
            case Event::Kind::Notice:
                return {{}, {coordinator}};
            case Event::Kind::Absent:
                return {{}, {event.rank}, true};
            case Event::Kind::Down:
            case Event::Kind::GiveUp:
                return {{event.rank}, {}};
            case Event::Kind::Follow:
                return {{event.rank}, {event.rank}};
            case Event::Kind::Die:
                return {{event.rank}, {event.rank}, true};
        }
        return {};
    }

    void happen(const Event& event) {
        Rank& it = at(event.rank);
        switch (event.kind) {
            case Event::Kind::Up: {
                const std::string frame = take(it.up);
                return arbiter_reads(it.succession.coordinator(), event.rank, frame);
            }
            case Event::Kind::Down:
                return rank_reads(event.rank, take(it.down));
            case Event::Kind::Die:
                it.lives = false;
                ++deaths_;
                it.down.clear();
                return;
            case Event::Kind::Notice: {
                it.is_cut = true;
                it.up.clear();
                Arbiter& arbiter = *arbiters_[it.succession.coordinator()];
                if (!arbiter.is_lost(event.rank)) arbiter.declare_lost(loss_of(event.rank));
                return;
            }
            case Event::Kind::Absent:
                for (const int absent : arbiters_[event.rank]->awaited()) {
                    if (!at(absent).lives) arbiters_[event.rank]->declare_lost(loss_of(absent));
                }
                return;
            case Event::Kind::GiveUp:
                gave_up_ = true;
                return say(event.rank, encode(GiveUp{0, key_of(it), -1}));
            case Event::Kind::Follow:
                it.down.clear();
                it.lost.insert(it.succession.coordinator());
                return follow(event.rank, it.succession.ended(known(it)));
        }
    }

    // Nothing happens any more.
    void check_end() const {
        const std::vector<std::string>* taken = nullptr;
        for (int rank = 0; rank < bounds_.ranks; ++rank) {
            const Rank& it = at(rank);
            const bool is_excluded = contains(bounds_.excluded, rank);
            if (!it.lives || is_excluded) continue;
            const auto decisions = static_cast<size_t>(bounds_.decisions);
            // One that failed for all has been taken again.
            if (it.successes != bounds_.decisions || it.taken.size() < decisions)
                fail_with("rank ", rank, " waits for ever");
            if (taken != nullptr && *taken != it.taken) fail_with("rank ", rank, " differs");
            taken = &it.taken;
            for (int other = 0; other < bounds_.ranks; ++other) {
                const bool counts = at(other).lives && !contains(bounds_.excluded, other);
                if (counts && !contains(it.last_members, other))
                    fail_with("rank ", other, " lives, and rank ", rank, " goes on without it");
                if (!counts && at(other).lives && contains(it.last_members, other))
                    fail_with("rank ", other, " is excluded, and a member");
            }
        }
    }

    [[nodiscard]] std::string describe(const Event& event) const {
        static constexpr const char* names[] = {"up",     "down",   "die",    "notice",
                                                "follow", "absent", "give up"};
        return cat(names[static_cast<size_t>(event.kind)], " ", event.rank);
    }

    std::vector<std::string> history;

private:
    struct Rank {
        Rank(int own, int size) : succession(own, size) {}
        bool lives = true;
        bool is_cut = false;  // the coordinator has noticed its death
        bool waits = false;
        int successes = 0;
        std::set<int> lost;
        std::vector<std::string> taken;  // decisions
        std::vector<int> last_members;
        std::deque<std::string> up, down;
        ReplayLog replay_log;
        Succession succession;
    };

    template <typename... Pieces>
    void fail_with(const Pieces&... pieces) const {
        for (const std::string& event : history) print_error("%s\n", event.c_str());
        fail_msg("%s", cat(pieces...).c_str());
    }
    static bool contains(const std::vector<int>& ranks, int rank) {
        return std::ranges::find(ranks, rank) != ranks.end();
    }
    static std::string take(std::deque<std::string>& queue) {
        std::string first = std::move(queue.front());
        queue.pop_front();
        return first;
    }
    static Status loss_of(int rank) {
        return death_error(rank, {TUTTI_ERR_NETWORK, -1, 0, "killed"});
    }
    Rank& at(int rank) { return ranks_[static_cast<size_t>(rank)]; }
    [[nodiscard]] const Rank& at(int rank) const { return ranks_[static_cast<size_t>(rank)]; }

    // Frames about decisions and deaths; others change nothing here.
    std::unique_ptr<Arbiter> make_arbiter(int of) {
        return std::make_unique<Arbiter>(
            bounds_.ranks, [this, of](int rank, const std::string& frame) {
                const Kind kind = frame_kind(frame);
                if (kind != Kind::Lost && kind != Kind::Decided) return;
                if (at(rank).lives && at(rank).succession.coordinator() == of)
                    at(rank).down.push_back(frame);
            });
    }

    [[nodiscard]] bool has_absent(int coordinator) const {
        return std::ranges::any_of(arbiters_.at(coordinator)->awaited(),
                                   [this](int rank) { return !at(rank).lives; });
    }

    [[nodiscard]] Succession::Known known(const Rank& it) const {
        Succession::Known all;
        all.all_have_joined = true;
        for (int rank = 0; rank < bounds_.ranks; ++rank)
            all.is_gone.push_back(it.lost.contains(rank));
        all.hosts.resize(all.is_gone.size(), "host");
        return all;
    }

    static std::string key_of(const Rank& it) { return cat("decision/", it.taken.size() + 1); }

    void propose(int rank) {
        Rank& it = at(rank);
        if (it.successes == bounds_.decisions || contains(bounds_.excluded, rank)) return;
        it.waits = true;
        Proposal proposal{0, key_of(it), {}, bounds_.excluded, 1, cat("rank ", rank)};
        for (int one = 0; one < bounds_.ranks; ++one) proposal.participants.push_back(one);
        say(rank, encode(proposal));
    }

    void say(int rank, const std::string& frame) {
        Rank& it = at(rank);
        it.replay_log.sent(frame);
        if (it.succession.is_alone()) {
            decide_alone(rank, frame);
        } else {
            it.up.push_back(frame);
        }
    }

    // As a world of processes does (membership/processes.cpp).
    void decide_alone(int rank, const std::string& bytes) {
        with_frame(bytes, [&](const Frame& frame) {
            if (frame.kind != Kind::Propose) return;
            const Proposal proposal = decode_proposal(frame);
            rank_takes(rank, {0, proposal.key, 1, {rank}, {proposal.payload}});
        });
    }

    void follow(int rank, const Succession::Decision& decision) {
        Rank& it = at(rank);
        it.up.clear();
        if (decision.action == Succession::Action::GoOnAlone) {
            for (const std::string& frame : it.replay_log.frames()) decide_alone(rank, frame);
            return;
        }
        if (decision.action == Succession::Action::Coordinate) {
            arbiters_[rank] = make_arbiter(rank);
            std::map<int, Status> losses;
            for (const int lost : it.lost) losses[lost] = loss_of(lost);
            arbiters_[rank]->restore({}, losses, {}, 1000u * static_cast<uint32_t>(rank));
        }
        it.succession.reached();
        it.up.push_back("hello");
        for (const int lost : it.lost) it.up.push_back(encode(Kind::Lost, loss_of(lost)));
        for (const std::string& frame : it.replay_log.frames()) it.up.push_back(frame);
        it.up.push_back(encode(Kind::Replayed));
    }

    void arbiter_reads(int coordinator, int rank, const std::string& bytes) {
        Arbiter& arbiter = *arbiters_[coordinator];
        if (bytes == "hello") return arbiter.enter(rank);
        with_frame(bytes, [&](const Frame& frame) {
            if (frame.kind != Kind::Lost) return arbiter.handle(rank, frame);
            const Status loss = decode_status(frame);  // as the coordinator does
            if (!arbiter.is_lost(loss.rank)) arbiter.declare_lost(loss);
        });
    }

    void rank_reads(int rank, const std::string& bytes) {
        with_frame(bytes, [&](const Frame& frame) {
            if (frame.kind == Kind::Decided) {
                const Decision decision = decode_decision(frame);
                at(rank).replay_log.received(decision);
                rank_takes(rank, decision);
            } else if (frame.kind == Kind::Lost) {
                at(rank).lost.insert(decode_status(frame).rank);
            }
        });
    }

    void rank_takes(int rank, const Decision& decision) {
        Rank& it = at(rank);
        if (!it.waits || decision.key != key_of(it)) return;
        it.waits = false;
        it.taken.push_back(encode(decision));
        it.last_members = decision.members;
        if (decision.failure.ok()) ++it.successes;
        propose(rank);
    }

    const Bounds bounds_;
    int deaths_ = 0;
    bool gave_up_ = false;
    std::vector<Rank> ranks_;
    std::map<int, std::unique_ptr<Arbiter>> arbiters_;
};

// Every order of events that depend on each other, once (with sleep sets): a branch begins anew.
class Search {
public:
    explicit Search(const Bounds& bounds) : bounds_(bounds) {}

    uint64_t run() {
        explore({});
        return ends_;
    }

private:
    std::unique_ptr<Universe> replay() {
        auto universe = std::make_unique<Universe>(bounds_);
        for (const Event& event : path_) happen(*universe, event);
        return universe;
    }
    static void happen(Universe& universe, const Event& event) {
        universe.history.push_back(universe.describe(event));
        universe.happen(event);
    }

    void explore(std::set<Event> asleep, std::unique_ptr<Universe> universe = nullptr) {
        if (!universe) universe = replay();
        const std::vector<Event> enabled = universe->enabled();
        // Deaths may also end here.
        if (std::ranges::all_of(
                enabled, [](const Event& event) { return event.kind == Event::Kind::Die; })) {
            universe->check_end();
            ++ends_;
        }
        // The search needs `changes` of events after this one has happened elsewhere.
        std::map<Event, Changes> changes;
        for (const Event& event : enabled) changes[event] = universe->changes(event);
        for (const Event& event : enabled) {
            if (asleep.contains(event)) continue;
            std::set<Event> still;
            for (const Event& other : asleep) {
                const auto found = changes.find(other);
                if (found != changes.end() && !found->second.meet(changes[event]))
                    still.insert(other);
            }
            if (!universe) universe = replay();
            happen(*universe, event);
            path_.push_back(event);
            explore(std::move(still), std::move(universe));
            path_.pop_back();
            asleep.insert(event);
        }
    }

    const Bounds bounds_;
    std::vector<Event> path_;
    uint64_t ends_ = 0;
};

Bounds asked;

void search(const Bounds& bounds) {
    const uint64_t ends = Search(bounds).run();
    print_message("%d ranks, %d deaths, %d decisions: %llu orders of events\n", bounds.ranks,
                  bounds.deaths, bounds.decisions, static_cast<unsigned long long>(ends));
    assert_true(ends > 0);
}

void the_living_decide_the_same_whoever_dies(void**) {
    search(asked);
}

void a_time_out_is_one_for_all(void**) {
    Bounds bounds = asked;
    bounds.gives_up = true;
    bounds.deaths = std::max(bounds.deaths - 1, 0);
    search(bounds);
}

void a_rank_that_is_excluded_is_not_waited_for(void**) {
    Bounds bounds = asked;
    bounds.excluded = {bounds.ranks - 1};
    search(bounds);
}

}  // namespace

int main(int argc, char** argv) {
    for (int at = 1; at + 1 < argc; at += 2) {
        const int value = std::atoi(argv[at + 1]);
        if (std::strcmp(argv[at], "--ranks") == 0) asked.ranks = value;
        if (std::strcmp(argv[at], "--deaths") == 0) asked.deaths = value;
        if (std::strcmp(argv[at], "--decisions") == 0) asked.decisions = value;
    }
    const CMUnitTest tests[] = {
        TUTTI_TEST(the_living_decide_the_same_whoever_dies),
        TUTTI_TEST(a_time_out_is_one_for_all),
        TUTTI_TEST(a_rank_that_is_excluded_is_not_waited_for),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
