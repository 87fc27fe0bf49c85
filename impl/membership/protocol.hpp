// What goes over a control connection: frames of [u32 length][u8 kind][fields], little endian,
// strings as [u32 length][bytes]. Pure functions over bytes; a malformed frame is an Error.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "stalls.hpp"

namespace tutti::membership {

// Values go over the wire: never renumbered. Groups have numbers: 0 is the first, the others are
// numbered by the arbiter. Ranks are those of the first group.
enum class Kind : uint8_t {
    Hello = 1,      // member: this is my rank and where I can be reached
    Refused = 2,    // coordinator: you do not belong here, and why
    Roster = 3,     // coordinator: all ranks have come, here is where each can be reached
    Ping = 4,       // both: I am alive
    Bye = 5,        // member: I leave that group, no harm done
    Left = 6,       // arbiter: those ranks have left that group
    Closing = 7,    // coordinator: I leave; nobody watches from now on
    Suspect = 8,    // member: my connection to that rank broke
    Report = 9,     // member: my call in that group failed, its ranks cannot go on
    Verdict = 10,   // arbiter: this is why that group's ranks cannot go on
    Who = 11,       // member: which ranks have not come yet?
    Missing = 12,   // coordinator: these have not
    Stalled = 13,   // member: nothing has come for a while in this call
    Lost = 14,      // arbiter: that rank died; also after the verdict
    Knock = 15,     // whoever connects: this is my rank, do you coordinate its group?
    Welcome = 16,   // coordinator: I do, and your place is free
    Turned = 17,    // coordinator, before Missing: whom it has refused
    Open = 18,      // member: I am in that group of these ranks
    Come = 19,      // member: I have come to that step, and this is what I say
    GiveUp = 20,    // member: my time for that step is up
    Gathered = 21,  // arbiter: all have come to that step, and this is what they say; member: an
                    // arbiter before said so
    Failed = 22,    // arbiter: that step has failed for all, and why
    Farewell = 23,  // coordinator: your goodbye to the first group has come
    Connect = 24    // member: that rank shall connect to me; arbiter: connect to that rank
};

using Token = std::array<char, 16>;
Token random_token();

// Where a rank can be reached.
struct Seat {
    std::vector<std::string> addresses;  // numeric, best first; as the rank itself sees them
    int port = 0;                        // at which it would coordinate
    std::string host;                    // net::host_identity() of the rank
    std::string options;                 // what must be the same on all ranks, as a phrase
};

// A rank has come to a step that some ranks of a group take together, or will not come.
struct Come {
    uint32_t group = 0;
    std::string key;                // the same on all ranks, and of no other step of the group
    std::vector<int> participants;  // ascending
    uint32_t numbers = 0;           // of new groups: how many the step needs
    std::string words;              // for the others
    Status refusal{};               // why this rank does not take part; the step fails with it
};

struct GiveUp {
    uint32_t group = 0;
    std::string key;
    int unless_here = -1;  // a rank: the step goes on if that one has come
};

struct Gathered {
    uint32_t group = 0;
    std::string key;
    uint32_t first_number = 0;       // of the new groups
    std::vector<std::string> words;  // of the participants, in their order
};

struct Failed {
    uint32_t group = 0;
    std::string key;
    Status cause;
    std::vector<int> missing;  // of TIMEOUT: the ranks that had not come
};

struct Knock {
    Token token{};  // the coordinator's
    int rank = 0;
    int size = 0;
};

struct Hello {
    Token token{};  // the coordinator's
    int rank = 0;
    int size = 0;
    Seat seat;
};

std::string encode(const Knock& knock);
std::string encode(const Hello& hello);
std::string encode(const std::vector<Seat>& roster);
std::string encode(Kind kind);                           // Ping, Closing, Who, Welcome, Farewell
std::string encode(Kind kind, int rank);                 // Connect
std::string encode(Kind kind, const std::string& text);  // Refused, Missing, Turned
std::string encode(Kind kind, const Status& status);     // Suspect, Lost
std::string encode(Kind kind, uint32_t group, const Status& status);           // Report, Verdict
std::string encode(Kind kind, uint32_t group, const std::vector<int>& ranks);  // Bye, Left, Open
std::string encode(uint32_t group, const Stall& stall);
std::string encode(const Come& come);
std::string encode(const GiveUp& give_up);
std::string encode(const Gathered& gathered);
std::string encode(const Failed& failed);

struct Frame {
    Kind kind{};
    std::span<const std::byte> fields;
};

Knock decode_knock(const Frame& frame);
Hello decode_hello(const Frame& frame);
std::vector<Seat> decode_roster(const Frame& frame);
int decode_rank(const Frame& frame);
std::string decode_text(const Frame& frame);
Status decode_status(const Frame& frame);
Come decode_come(const Frame& frame);
GiveUp decode_give_up(const Frame& frame);
Gathered decode_gathered(const Frame& frame);
Failed decode_failed(const Frame& frame);

// What is about one group.
template <typename Content>
struct OfGroup {
    uint32_t group = 0;
    Content content{};
};
OfGroup<Status> decode_group_status(const Frame& frame);
OfGroup<std::vector<int>> decode_ranks(const Frame& frame);
OfGroup<Stall> decode_stall(const Frame& frame);

// Of one whole frame.
Kind frame_kind(const std::string& frame);

constexpr size_t longest_frame = 64 * 1024 * 1024;  // a roster of half a million ranks

// Cuts a stream of bytes into frames.
class FrameReader {
public:
    // From the next frame on; without, longest_frame.
    void allow(size_t longest) { longest_ = longest; }
    // Calls `use` for each whole frame; stops early if it returns false. Throws on a frame longer
    // than any of ours.
    void feed(std::span<const std::byte> bytes, const std::function<bool(const Frame&)>& use);

private:
    size_t longest_ = longest_frame;
    std::vector<std::byte> pending_;
};

}  // namespace tutti::membership
