// Decisions of the living, in every order of events: the arbiter, the replay log and the choice of
// the next coordinator are the library's own, connections are queues, and a search runs every
// interleaving of what comes, of deaths and of who notices them, from each state once. In the end
// all ranks that live have taken the same decisions.
//   consensus_model_test [--ranks N] [--deaths D] [--decisions K]
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
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
};

// An arbiter, with all that it was given, from which a copy is made; and all that it sent. Of two
// with the same from and to each rank, either can stand for the other.
class Court {
public:
    // `send` is not called for what a copy repeats.
    using Send = std::function<void(int rank, const std::string& frame)>;
    Court(int size, Send send) : size_(size), send_(std::move(send)), begin_([](Arbiter&) {}) {
        make();
    }
    Court(const Court& other, Send send)
        : size_(other.size_), send_(nullptr), begin_(other.begin_) {
        make();
        for (const auto& [rank, input] : other.inputs_) give(rank, input);
        send_ = std::move(send);
    }
    Court(const Court&) = delete;
    Court& operator=(const Court&) = delete;

    void begin(std::function<void(Arbiter&)> begin) {
        begin_ = std::move(begin);
        begin_(*arbiter_);
    }
    // A frame of that rank, "hello", or "lost": the rank is.
    void give(int rank, const std::string& input) {
        inputs_.emplace_back(rank, input);
        in_out_[static_cast<size_t>(rank)] += input + '\1';
        if (input == "hello") return arbiter_->enter(rank);
        if (input == "lost") return lose(rank);
        with_frame(input, [&](const Frame& frame) {
            if (frame.kind != Kind::Lost) return arbiter_->handle(rank, frame);
            lose(decode_status(frame).rank);  // as the coordinator does
        });
    }
    Arbiter& operator*() { return *arbiter_; }
    Arbiter* operator->() { return arbiter_.get(); }
    [[nodiscard]] const std::vector<std::string>& in_out() const { return in_out_; }

private:
    void make() {
        in_out_.resize(static_cast<size_t>(size_));
        arbiter_ = std::make_unique<Arbiter>(size_, [this](int rank, const std::string& frame) {
            in_out_[static_cast<size_t>(rank)] += frame + '\2';
            if (send_) send_(rank, frame);
        });
        begin_(*arbiter_);
    }
    void lose(int rank) {
        const Status why{TUTTI_ERR_NETWORK, -1, 0, "killed"};
        if (!arbiter_->is_lost(rank)) arbiter_->declare_lost(death_error(rank, why));
    }

    const int size_;
    Send send_;
    std::function<void(Arbiter&)> begin_;
    std::vector<std::pair<int, std::string>> inputs_;
    std::vector<std::string> in_out_;  // by rank
    std::unique_ptr<Arbiter> arbiter_;
};

class Universe {
public:
    explicit Universe(const Bounds& bounds) : bounds_(bounds) {
        for (int rank = 0; rank < bounds.ranks; ++rank) {
            ranks_.emplace_back(rank, bounds.ranks);
            ranks_.back().succession.met(0, "host");
        }
        arbiters_[0] = std::make_unique<Court>(bounds.ranks, sender(0));
        for (int rank = 0; rank < bounds.ranks; ++rank) arbiters_[0]->give(rank, "hello");
        for (int rank = 0; rank < bounds.ranks; ++rank) propose(rank);
    }

    Universe(const Universe& other)
        : history(other.history),
          bounds_(other.bounds_),
          deaths_(other.deaths_),
          gave_up_(other.gave_up_),
          ranks_(other.ranks_) {
        for (const auto& [rank, court] : other.arbiters_)
            arbiters_[rank] = std::make_unique<Court>(*court, sender(rank));
    }
    Universe& operator=(const Universe&) = delete;

    // The same for states from which the same follows.
    [[nodiscard]] std::string state() const {
        std::string all = cat(deaths_, gave_up_ ? "!" : ".");
        for (const Rank& it : ranks_) {
            all += cat("\3", it.lives, it.is_cut, it.waits, it.successes, it.succession.is_alone(),
                       it.succession.coordinator());
            for (const int lost : it.lost) all += cat(",", lost);
            for (const std::string& one : it.taken) all += '\4' + one;
            for (const std::string& one : it.up) all += '\5' + one;
            for (const std::string& one : it.down) all += '\6' + one;
            for (const std::string& one : it.replay_log.frames()) all += '\7' + one;
        }
        for (const auto& [rank, court] : arbiters_) {
            if (!at(rank).lives) continue;
            all += cat("\b", rank);
            for (const std::string& one : court->in_out()) all += '\t' + one;
        }
        return all;
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

    void happen(const Event& event) {
        Rank& it = at(event.rank);
        switch (event.kind) {
            case Event::Kind::Up: {
                const std::string frame = take(it.up);
                return arbiters_[it.succession.coordinator()]->give(event.rank, frame);
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
                return arbiters_[it.succession.coordinator()]->give(event.rank, "lost");
            }
            case Event::Kind::Absent:
                for (const int absent : (*arbiters_[event.rank])->awaited()) {
                    if (!at(absent).lives) arbiters_[event.rank]->give(absent, "lost");
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
    Court::Send sender(int of) {
        return [this, of](int rank, const std::string& frame) {
            const Kind kind = frame_kind(frame);
            if (kind != Kind::Lost && kind != Kind::Decided) return;
            if (at(rank).lives && at(rank).succession.coordinator() == of)
                at(rank).down.push_back(frame);
        };
    }

    [[nodiscard]] bool has_absent(int coordinator) const {
        return std::ranges::any_of((*arbiters_.at(coordinator))->awaited(),
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
            std::map<int, Status> losses;
            for (const int lost : it.lost) losses[lost] = loss_of(lost);
            arbiters_[rank] = std::make_unique<Court>(bounds_.ranks, sender(rank));
            arbiters_[rank]->begin([losses, rank](Arbiter& arbiter) {
                arbiter.restore({}, losses, {}, 1000u * static_cast<uint32_t>(rank));
            });
        }
        it.succession.reached();
        it.up.push_back("hello");
        for (const int lost : it.lost) it.up.push_back(encode(Kind::Lost, loss_of(lost)));
        for (const std::string& frame : it.replay_log.frames()) it.up.push_back(frame);
        it.up.push_back(encode(Kind::Replayed));
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
    std::map<int, std::unique_ptr<Court>> arbiters_;
};

// Every order of events; a state that was there before is left at once.
class Search {
public:
    explicit Search(const Bounds& bounds) : bounds_(bounds) {}

    // The number of states.
    size_t run() {
        explore(Universe(bounds_));
        return seen_.size();
    }

private:
    void explore(const Universe& universe) {
        if (!seen_.insert(std::hash<std::string>()(universe.state())).second) return;
        const std::vector<Event> enabled = universe.enabled();
        // Deaths may also end here.
        if (std::ranges::all_of(
                enabled, [](const Event& event) { return event.kind == Event::Kind::Die; })) {
            universe.check_end();
        }
        for (const Event& event : enabled) {
            Universe next(universe);
            next.history.push_back(next.describe(event));
            next.happen(event);
            explore(next);
        }
    }

    const Bounds bounds_;
    std::unordered_set<size_t> seen_;  // by hash: two of a million states in a quintillion
};

Bounds asked;

void search(const Bounds& bounds) {
    const size_t states = Search(bounds).run();
    print_message("%d ranks, %d deaths, %d decisions: %zu states\n", bounds.ranks, bounds.deaths,
                  bounds.decisions, states);
    assert_true(states > 0);
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
