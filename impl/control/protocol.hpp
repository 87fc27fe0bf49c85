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

namespace tutti::control {

// Values go over the wire: never renumbered.
enum class Kind : uint8_t {
    Hello = 1,     // member: who I am, where my data come in
    Refused = 2,   // coordinator: not with me, and why
    Roster = 3,    // coordinator: all have come, here is where their data come in
    Ping = 4,      // both: I am alive
    Bye = 5,       // member: I leave, no harm done
    Left = 6,      // coordinator: that rank left
    Closing = 7,   // coordinator: I leave; nobody watches from now on
    Suspect = 8,   // member: my connection to that rank broke
    Report = 9,    // member: my call failed, nobody can go on
    Verdict = 10,  // coordinator: this is why nobody can go on
    Who = 11,      // member: who has not come yet?
    Missing = 12,  // coordinator: these have not
    Stalled = 13,  // member: nothing has come for a while in this call
    Lost = 14,     // coordinator: that rank died, or its lines broke; also after the verdict
    Knock = 15,    // whoever calls: this is who I am, are you rank 0 of my group?
    Welcome = 16,  // coordinator: I am, and your place is free
    Turned = 17    // coordinator, before Missing: whom it has refused
};

using Token = std::array<char, 16>;
Token random_token();

// Where a rank's data connections come in.
struct Seat {
    std::vector<std::string> addresses;  // numeric, best first; as the rank itself sees them
    int port = 0;
    Token token{};
    std::string host;  // net::host_identity() of the rank
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
std::string encode(Kind kind);                           // Ping, Bye, Closing, Who, Welcome
std::string encode(Kind kind, int rank);                 // Left
std::string encode(Kind kind, const std::string& text);  // Refused, Missing, Turned
std::string encode(Kind kind, const Status& status);     // Suspect, Report, Verdict, Lost
std::string encode(const Stall& stall);

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
Stall decode_stall(const Frame& frame);

// Cuts a stream of bytes into frames.
class FrameReader {
public:
    // Calls `use` for each whole frame; stops early if it returns false. Throws on a frame longer
    // than any of ours.
    void feed(std::span<const std::byte> bytes, const std::function<bool(const Frame&)>& use);

private:
    std::vector<std::byte> pending_;
};

}  // namespace tutti::control
