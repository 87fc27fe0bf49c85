// The keys of a step: "spec", the first rank's arguments; "here", who has come, with their cards;
// "verdict", the outcome, which the first to know it sets; "left", how many have read it.
#include "agreement.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <map>
#include <optional>
#include <thread>

#include "base/error.hpp"
#include "base/fault_point.hpp"
#include "ranks.hpp"

namespace tutti {

namespace {

constexpr int64_t slice_ms = 50;          // a wait looks for trouble this often
constexpr int64_t reason_ms = 1000;       // what the reason for a lost store may take to be known
constexpr int64_t last_answer_ms = 5000;  // what the store may take once the deadline has passed
constexpr size_t shown = 120;             // bytes of an argument in a message
constexpr char good[] = "0 -1 ";

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

int read_number(const std::string& text, size_t begin = 0) {
    int number = -1;
    std::from_chars(text.data() + std::min(begin, text.size()), text.data() + text.size(), number);
    return number;
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

Status look_for_trouble(const Agreement& step) {
    for (const int rank : step.participants) {
        if (Status status = step.trouble(rank); !status.ok()) return status;
    }
    return {};
}

// Nothing tells when there is some.
Status await_trouble(const Agreement& step, const Deadline& deadline) {
    for (;;) {
        Status status = look_for_trouble(step);
        if (!status.ok() || deadline.expired()) return status;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
}

class Step {
public:
    Step(const Agreement& agreement, const Deadline& deadline)
        : agreement_(agreement), store_(*agreement.store), deadline_(deadline) {}

    std::vector<std::string> take() {
        bring_arguments();
        come();
        TUTTI_FAULT_POINT("agreement.wait");
        const std::string verdict = await_verdict();
        // The last to know clears the table; its cards are read before.
        Cards cards;
        if (verdict == good) cards = read_cards();
        leave();
        if (verdict != good) throw Error(read(verdict));
        std::vector<std::string> all;
        for (const int rank : agreement_.participants) all.push_back(cards[rank]);
        return all;
    }

    void decline(const Status& why) {
        decide({TUTTI_ERR_MISMATCH, agreement_.rank, 0,
                cat("rank ", agreement_.rank, " called ", agreement_.function,
                    " with an argument that was refused: ", why.message)});
        leave();
    }

private:
    using Cards = std::map<int, std::string>;

    [[nodiscard]] int64_t count() const {
        return static_cast<int64_t>(agreement_.participants.size());
    }
    // A question whose answer is there is answered even if the time is up.
    [[nodiscard]] Deadline soon() const {
        return deadline_.expired() ? Deadline::after_ms(last_answer_ms) : deadline_;
    }

    // The first rank's arguments count; whoever has others says so to all.
    void bring_arguments() {
        std::string mine = cat(agreement_.rank, "\n", agreement_.function, "\n");
        for (const std::string& argument : agreement_.arguments) mine += argument + "\n";
        const std::string first = store_.compare_set("spec", "", mine, soon());
        const auto arguments = [](const std::string& text) { return text.substr(text.find('\n')); };
        if (arguments(first) == arguments(mine)) return;
        Lines ours = split_lines(mine);
        Lines theirs = split_lines(first);
        ours.erase(ours.begin());
        theirs.erase(theirs.begin());
        const Sides sides = compare(ours, theirs);
        decide({TUTTI_ERR_MISMATCH, agreement_.rank, 0,
                cat("rank ", agreement_.rank, " called ", sides.mine, " while rank ",
                    read_number(first), " called ", sides.theirs)});
    }

    void come() {
        store_.append("here", cat(agreement_.rank, " ", agreement_.card, "\n"), soon());
        if (missing(read_cards()).empty()) {
            store_.compare_set("verdict", "", good, soon());
        }
    }

    Cards read_cards() {
        Cards cards;
        for (const std::string& line : split_lines(store_.get("here", soon()))) {
            cards[read_number(line)] = line.substr(line.find(' ') + 1);
        }
        return cards;
    }

    [[nodiscard]] std::vector<int> missing(const Cards& cards) const {
        std::vector<int> ranks;
        for (const int rank : agreement_.participants) {
            if (!cards.contains(rank)) ranks.push_back(rank);
        }
        return ranks;
    }

    std::string await_verdict() {
        for (;;) {
            try {
                return store_.get("verdict", deadline_.or_earlier(Deadline::after_ms(slice_ms)));
            } catch (const Error& error) {
                if (error.status().code != TUTTI_ERR_TIMEOUT) throw;
            }
            if (deadline_.expired()) return give_up();
            // Whoever goes on from here may have left since.
            if (const Status status = look_for_trouble(agreement_); !status.ok()) {
                return decide(status);
            }
        }
    }

    std::string give_up() {
        const std::vector<int> ranks = missing(read_cards());
        const bool several = ranks.size() > 1;
        return decide({TUTTI_ERR_TIMEOUT, ranks.empty() ? -1 : ranks.front(), 0,
                       cat("rank ", agreement_.rank, " timed out waiting for rank",
                           several ? "s " : " ", ranks_text(ranks),
                           several ? ", which have not called " : ", which has not called ",
                           agreement_.function)});
    }

    // The outcome; the first one counts.
    std::string decide(const Status& status) {
        return store_.compare_set("verdict", "",
                                  cat(status.code, " ", status.rank, " ", status.message), soon());
    }

    static Status read(const std::string& verdict) {
        const size_t first = verdict.find(' ');
        const size_t second = std::min(verdict.find(' ', first + 1), verdict.size() - 1);
        const int code = read_number(verdict);
        return {code > 0 ? code : TUTTI_ERR_STORE, read_number(verdict, first + 1), 0,
                verdict.substr(second + 1)};
    }

    void leave() {
        if (store_.add("left", 1, soon()) < count()) return;
        for (const char* key : {"spec", "here", "verdict", "left"}) store_.delete_key(key, soon());
    }

    const Agreement& agreement_;
    Store& store_;
    const Deadline deadline_;
};

}  // namespace

std::vector<std::string> agree(const Agreement& step, const Deadline& deadline) {
    try {
        return Step(step, deadline).take();
    } catch (const Error& error) {
        const tutti_status code = error.status().code;
        if (code != TUTTI_ERR_STORE && code != TUTTI_ERR_NETWORK) throw;
        // The store may be gone because the rank that served it is.
        const Status reason =
            await_trouble(step, deadline.or_earlier(Deadline::after_ms(reason_ms)));
        if (reason.ok()) throw;
        throw Error(reason);
    }
}

void decline(const Agreement& step, const Status& why, const Deadline& deadline) {
    Step(step, deadline).decline(why);
}

}  // namespace tutti
