// The frames of the control connections: they mean the same however the stream is cut, and a frame
// that can be read says again, when it is written, what was in it.
// Input: a byte n, n lengths of pieces, the stream.
#include <cstring>

#include "base/error.hpp"
#include "input.hpp"
#include "membership/protocol.hpp"

namespace {

using namespace tutti::membership;
using Bytes = std::span<const std::byte>;

// The frame as it was understood, written anew; empty if it was not.
std::string understood(const Frame& frame) {
    try {
        switch (frame.kind) {
            case Kind::Hello:
                return encode(decode_hello(frame));
            case Kind::Roster:
                return encode(decode_roster(frame));
            case Kind::Left:
            case Kind::Bye:
            case Kind::Open: {
                const auto [group, ranks] = decode_ranks(frame);
                return encode(frame.kind, group, ranks);
            }
            case Kind::Arrive:
                return encode(decode_arrival(frame));
            case Kind::GiveUp:
                return encode(decode_give_up(frame));
            case Kind::StepCompleted:
                return encode(decode_step_completed(frame));
            case Kind::StepFailed:
                return encode(decode_step_failed(frame));
            case Kind::Refused:
            case Kind::Missing:
                return encode(frame.kind, decode_text(frame));
            case Kind::Suspect:
            case Kind::Lost:
                return encode(frame.kind, decode_status(frame));
            case Kind::Report:
            case Kind::Verdict: {
                const auto [group, failure] = decode_failure(frame);
                return encode(frame.kind, group, failure);
            }
            case Kind::Stalled: {
                const auto [group, stall] = decode_stall(frame);
                return encode(group, stall);
            }
            default:
                return encode(frame.kind);
        }
    } catch (const tutti::Error&) {
        return "";
    }
}

struct Outcome {
    std::vector<std::string> frames;
    bool refused = false;
};

void note(Outcome& outcome, const Frame& frame) {
    const std::string again = understood(frame);
    outcome.frames.push_back(again);
    if (again.empty()) return;
    // The frame may have more at its end, which is ignored.
    const std::string_view fields = std::string_view(again).substr(sizeof(uint32_t) + 1);
    FUZZ_EXPECT(fields.size() <= frame.fields.size());
    FUZZ_EXPECT(fields.empty() ||
                std::memcmp(fields.data(), frame.fields.data(), fields.size()) == 0);
}

Outcome read(Bytes stream, Bytes cuts) {
    Outcome outcome;
    FrameReader reader;
    try {
        tutti::fuzz::in_pieces(stream, cuts, [&](Bytes piece) {
            reader.feed(piece, [&](const Frame& frame) {
                note(outcome, frame);
                return true;
            });
        });
    } catch (const tutti::Error&) {
        outcome.refused = true;
    }
    return outcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    tutti::fuzz::Input input(data, size);
    const Bytes cuts = input.bytes(input.byte());
    const Bytes stream = input.rest();
    const Outcome whole = read(stream, {});
    const Outcome cut = read(stream, cuts);
    FUZZ_EXPECT(whole.refused == cut.refused);
    FUZZ_EXPECT(whole.frames == cut.frames);
    return 0;
}
