// The control connection: frames of [u32 length][u8 kind][fields], little endian, strings as [u32
// length][bytes]. Pure functions over bytes; a malformed frame is an Error.
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
#include "net/process_watch.hpp"
#include "stalls.hpp"

namespace tutti::membership {

// Wire values, never renumbered. Group 0 is the first one; the arbiter gives the other ids. Ranks
// are those of the first group.
enum class Kind : uint8_t {
    Hello = 1,          // member: this is my rank and where I can be reached
    Refused = 2,        // coordinator: you do not belong here, and why
    Roster = 3,         // coordinator: all ranks have come, here is where each can be reached
    Ping = 4,           // both: I am alive
    Bye = 5,            // member: I leave that group, no harm done
    Left = 6,           // arbiter: those ranks have left that group; ends its answer to Open
    Closing = 7,        // coordinator: I leave; nobody watches from now on
    Suspect = 8,        // member: my connection to that rank broke
    Report = 9,         // member: my call in that group failed, its ranks cannot go on
    Verdict = 10,       // arbiter: this is why that group's ranks cannot go on
    QueryMissing = 11,  // member: which ranks have not come yet?
    Missing = 12,       // coordinator: these have not
    Stalled = 13,       // member: nothing has come for a while in this call
    Lost = 14,          // arbiter: that rank died; also after the verdict; member: an arbiter
                        // before said so
    Handshake = 15,     // whoever connects: this is my rank, do you coordinate its group?
    Welcome = 16,       // coordinator: I do, and your place is free
    RefusedRanks = 17,  // coordinator, before Missing: whom it has refused
    Open = 18,          // member: I am in that group of these ranks
    Arrive = 19,        // member: I have come to that step, and this is what I say
    GiveUp = 20,        // member: my time for that step is up
    StepCompleted =
        21,           // arbiter: all have come to that step, and this is what they say; member: an
                      // arbiter before said so
    StepFailed = 22,  // arbiter: that step has failed for all, and why
    ByeAck = 23,      // coordinator: your goodbye to the first group has come
    Connect = 24,     // member: that rank shall connect to me; arbiter: connect to that rank
    Watch = 25,       // member: I watch those ranks, and no others
    Covered = 26,     // coordinator: that rank answers for you, no pings are needed; -1: none does
    Seen = 27,        // member: this has befallen a rank that I watch
    Ask = 28,         // both: do you live? A ping is the answer
    Doubt = 29,       // coordinator: a connection to you broke; are you still here?
    Here = 30,        // member: the answer
    Propose = 31,     // member: I take part in that decision of the living, and this is what I say
    Decided = 32,     // arbiter: so the living have decided; member: an arbiter before said so
    Replayed = 33,    // member: what I have said before is complete
    RuledOut = 34,    // member: I follow another coordinator, for your process did not run; the
                      // next coordinator, to an inquiry: the others go on without your rank
    Inquire = 35,     // whoever connects: do the others follow you, and go on without this rank?
    Paused = 36,      // member: a debugger holds or may hold that rank, this one or one that it
                      // watches; coordinator, to all: so it is, and silence does not mean its end
    Resumed = 37      // both: no longer
};

constexpr int nobody = -1;  // in place of a rank

using Token = std::array<char, 16>;
Token random_token();

// Where a rank can be reached.
struct Endpoint {
    std::vector<std::string> addresses;  // numeric, best first; as the rank itself sees them
    int port = 0;                        // where it would coordinate
    std::string host;                    // net::host_identity() of the rank
    std::string options;                 // what must be the same on all ranks, as a phrase
    net::ThreadId thread{};              // whoever watches it sees whether the rank runs
    std::string mailbox{};               // net::Mailbox of the rank
};

// Why a group's ranks cannot go on.
struct Failure {
    Status cause;
    // The first of the group's collectives, by its sequence number, that cannot end well; those
    // before it can, for the failed rank has done its part in them.
    uint64_t first_call = 0;
    [[nodiscard]] bool ok() const { return cause.ok(); }
    // Whether it ends a call that the other, if there is one, leaves alone. The first call is 1.
    [[nodiscard]] bool ends_more_than(const Failure& other) const {
        return other.ok() || (first_call < other.first_call && other.first_call > 1);
    }
};

// A rank has arrived at a step that some ranks of a group take together, or refuses to.
struct StepArrival {
    uint32_t group = 0;
    std::string key;                // the same on all ranks, and of no other step of the group
    std::vector<int> participants;  // ascending
    uint32_t new_groups = 0;        // how many group ids the step needs
    std::string payload;            // for the other ranks
    Status refusal{};               // why this rank does not take part; the step fails with it
};

struct GiveUp {
    uint32_t group = 0;
    std::string key;
    int unless_here = -1;  // the step goes on if that rank, another, has arrived
};

struct StepCompleted {
    uint32_t group = 0;
    std::string key;
    uint32_t first_group_id = 0;        // of the new groups
    std::vector<std::string> payloads;  // of the participants, in their order
};

struct StepFailed {
    uint32_t group = 0;
    std::string key;
    Status cause;
    std::vector<int> missing;  // with TIMEOUT: the missing ranks
};

// What a rank says in a decision that the living ranks of a group take (consensus.hpp).
struct Proposal {
    uint32_t group = 0;
    std::string key;                // the same on all ranks, and of no other decision of the group
    std::vector<int> participants;  // all that may take part, in the order of their ranks there
    std::vector<int> excluded;      // of them: they are not waited for, though they live
    uint32_t new_groups = 0;        // how many group ids it needs
    std::string payload;            // for the other ranks
};

struct Decision {
    uint32_t group = 0;
    std::string key;
    uint32_t first_group_id = 0;          // of the new groups
    std::vector<int> members{};           // that have taken part, in the order of the participants
    std::vector<std::string> payloads{};  // of the members; with MISMATCH, two members and the
                                          // ranks that each excludes ("1, 2")
    Status failure{};                     // there is none, for this reason
    std::vector<int> missing{};           // with TIMEOUT: the missing ranks
};

struct Handshake {
    Token token{};  // the coordinator's
    int rank = 0;
    int size = 0;
};

struct Hello {
    Token token{};  // the coordinator's
    int rank = 0;
    int size = 0;
    Endpoint endpoint;
    bool has_slept = false;  // its process did not run when the coordinator before went
};

std::string encode(const Handshake& handshake);
std::string encode_inquiry(const Handshake& of);
std::string encode(const Hello& hello);
std::string encode(const std::vector<Endpoint>& roster);
std::string encode(const Proposal& proposal);
std::string encode(const Decision& decision);
std::string encode(Kind kind);                           // those without fields
std::string encode(Kind kind, int rank);                 // Connect, Covered, Paused, Resumed
std::string encode(Kind kind, const std::string& text);  // Refused, Missing, RefusedRanks
std::string encode(Kind kind, const Status& status);     // Suspect, Lost, Seen, RuledOut
std::string encode(Kind kind, uint32_t group, const Failure& failure);         // Report, Verdict
std::string encode(Kind kind, uint32_t group, const std::vector<int>& ranks);  // Bye, Left, Open
std::string encode_watch(const std::vector<int>& ranks);
std::string encode(uint32_t group, const Stall& stall);
std::string encode(const StepArrival& arrival);
std::string encode(const GiveUp& give_up);
std::string encode(const StepCompleted& completed);
std::string encode(const StepFailed& failed);

struct Frame {
    Kind kind{};
    std::span<const std::byte> fields;
};

Handshake decode_handshake(const Frame& frame);
Handshake decode_inquiry(const Frame& frame);
Hello decode_hello(const Frame& frame);
std::vector<Endpoint> decode_roster(const Frame& frame);
int decode_rank(const Frame& frame);
std::vector<int> decode_watch(const Frame& frame);
std::string decode_text(const Frame& frame);
Status decode_status(const Frame& frame);
StepArrival decode_arrival(const Frame& frame);
GiveUp decode_give_up(const Frame& frame);
StepCompleted decode_step_completed(const Frame& frame);
StepFailed decode_step_failed(const Frame& frame);
Proposal decode_proposal(const Frame& frame);
Decision decode_decision(const Frame& frame);

// Content about one group.
template <typename Content>
struct OfGroup {
    uint32_t group = 0;
    Content content{};
};
OfGroup<Failure> decode_failure(const Frame& frame);
OfGroup<std::vector<int>> decode_ranks(const Frame& frame);
OfGroup<Stall> decode_stall(const Frame& frame);

// The kind of a complete frame.
Kind frame_kind(const std::string& frame);

constexpr size_t max_frame = 64 * 1024 * 1024;  // a roster of a third of a million ranks

// Cuts a stream of bytes into frames.
class FrameReader {
public:
    // From the next frame on; default: max_frame.
    void allow(size_t longest) { longest_ = longest; }
    // Calls `use` for each complete frame; stops early if it returns false. Throws on a frame that
    // is too long.
    void feed(std::span<const std::byte> bytes, const std::function<bool(const Frame&)>& use);
    // Bytes that the frame under way is known to need still; never more than it has.
    [[nodiscard]] size_t missing() const;

private:
    size_t longest_ = max_frame;
    std::vector<std::byte> pending_;
};

}  // namespace tutti::membership
