// Every rank tells rank 0 what it has called; rank 0 compares, and tells all of them the same. The
// messages have a step of the collective to themselves, after all that its data can take.
#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "algorithm.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "roll_call.hpp"

namespace tutti::algorithm {

namespace {

// What a rank has called, and in words, for only it may know the name of its reduce function.
struct Claim {
    Fingerprint fingerprint;
    std::array<char, 200> words;
};

// What rank 0 says: an empty text is "go on".
struct Verdict {
    int32_t blamed;
    std::array<char, 1020> text;
};
static_assert(sizeof(Verdict) <= Exchange::eager_bytes);

// As much as there is room for, and whole characters.
template <size_t size>
void put(std::array<char, size>& to, std::string_view text) {
    to.fill('\0');
    std::ranges::copy(cut(text, size - 1), to.begin());
}

template <size_t size>
std::string take(const std::array<char, size>& from) {
    return {from.data(), strnlen(from.data(), size)};
}

std::string list(const std::vector<int>& ranks) {
    constexpr size_t most = 8;
    std::string text = ranks.size() > 1 ? "ranks " : "rank ";
    for (size_t index = 0; index < std::min(ranks.size(), most); ++index) {
        text += cat(index > 0 ? ", " : "", ranks[index]);
    }
    if (ranks.size() > most) text += cat(" and ", ranks.size() - most, " others");
    return text;
}

// "rank 2 called this, ranks 3, 4 called that while ranks 0, 1 called something else".
Verdict judge(const std::vector<Claim>& claims) {
    std::vector<std::vector<int>> sides;  // who called the same
    for (int rank = 0; rank < static_cast<int>(claims.size()); ++rank) {
        const auto side = std::ranges::find_if(sides, [&](const std::vector<int>& ranks) {
            return claims[static_cast<size_t>(ranks.front())].fingerprint ==
                   claims[static_cast<size_t>(rank)].fingerprint;
        });
        if (side == sides.end()) {
            sides.push_back({rank});
        } else {
            side->push_back(rank);
        }
    }
    Verdict verdict{-1, {}};
    if (sides.size() < 2) return verdict;
    verdict.blamed = sides[1].front();
    std::string text;
    const auto say = [&](const std::vector<int>& ranks) {
        text +=
            cat(list(ranks), " called ", take(claims[static_cast<size_t>(ranks.front())].words));
    };
    for (size_t index = 1; index < sides.size(); ++index) {
        if (index > 1) text += ", ";
        say(sides[index]);
    }
    text += " while ";
    say(sides.front());
    put(verdict.text, text);
    return verdict;
}

template <typename Value>
Bytes bytes_of(Value& value) {
    return std::as_writable_bytes(std::span(&value, 1));
}

Verdict collect(Exchange& exchange, const Claim& mine) {
    std::vector<Claim> claims(static_cast<size_t>(exchange.size()));
    std::vector<Exchange::Ticket> arriving;
    claims.front() = mine;
    for (int rank = 1; rank < exchange.size(); ++rank) {
        arriving.push_back(exchange.receive(rank, bytes_of(claims[static_cast<size_t>(rank)])));
    }
    call_the_roll(exchange, arriving, true, "did not call it");
    Verdict verdict = judge(claims);
    for (int rank = 1; rank < exchange.size(); ++rank) exchange.send(rank, bytes_of(verdict));
    exchange.wait_all();
    return verdict;
}

Verdict ask(Exchange& exchange, Claim mine) {
    const auto start = Deadline::Clock::now();
    Verdict verdict{};
    const auto answer = exchange.receive(0, bytes_of(verdict));
    exchange.wait(exchange.send(0, bytes_of(mine)));
    exchange.wait(answer, verdict_of_rank_0(exchange.deadline(), start));
    return verdict;
}

}  // namespace

void compare_calls(Channel& channel, const Fingerprint& mine, uint64_t number,
                   const Deadline& deadline) {
    // The same head on all ranks: what differs is in the claims.
    const Fingerprint none{};
    Exchange exchange(channel, none, number, deadline, {Slot::most_steps - 1, mine});
    Claim claim{mine, {}};
    put(claim.words, describe(mine, number));
    const Verdict verdict = exchange.rank() == 0 ? collect(exchange, claim) : ask(exchange, claim);
    if (const std::string text = take(verdict.text); !text.empty()) {
        throw Error(TUTTI_ERR_MISMATCH, text, verdict.blamed);
    }
}

}  // namespace tutti::algorithm
