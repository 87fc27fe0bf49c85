// What the flight recorder is given of a group's calls. Any thread.
#pragma once

#include <string_view>
#include <variant>

#include "call/flat.hpp"
#include "call/message.hpp"
#include "core.hpp"
#include "record/recorder.hpp"

namespace tutti {

namespace notes {

template <typename Pieces>
uint64_t bytes_of(const Pieces& pieces) {
    uint64_t bytes = 0;
    for (const auto& piece : pieces) bytes += piece.size();
    return bytes;
}

inline int peer_of(const Send& call) {
    return call.destination;
}
inline int peer_of(const Receive& call) {
    return call.source;
}

inline int64_t timeout_of(const Deadline& deadline) {
    return deadline.timeout_ms() == 0 ? -1 : deadline.timeout_ms();
}

}  // namespace notes

inline record::Note note_of(const Fingerprint& call, const GroupCore& group, int64_t timeout_ms,
                            uint8_t flags = 0) {
    return {.group = group.record.slot(),
            .kind = static_cast<uint8_t>(call.kind),
            .flags = flags,
            .dtype = static_cast<uint8_t>(call.dtype),
            .op = static_cast<uint8_t>(call.op),
            .device = static_cast<uint8_t>(call.device),
            .peer = call.root,
            .count = call.count,
            .timeout_ms = group.effective_timeout(timeout_ms),
            .layout = static_cast<uint32_t>(call.layout)};
}

inline record::Note note_of(const FlatCall& call, const GroupCore& group, int64_t timeout_ms,
                            uint8_t flags = 0) {
    record::Note note = note_of(call.fingerprint, group, timeout_ms, flags);
    note.input_bytes = notes::bytes_of(call.inputs);
    note.output_bytes = notes::bytes_of(call.outputs);
    return note;
}

// Of a Send or a Receive.
template <typename Message>
record::Note note_of_message(const Message& call, const GroupCore& group, int64_t timeout_ms,
                             uint8_t flags = 0) {
    constexpr bool sends = std::is_same_v<Message, Send>;
    const auto bytes = call.buffer.bytes().size();
    return {.group = group.record.slot(),
            .kind = static_cast<uint8_t>(sends ? record::Kind::Send : record::Kind::Receive),
            .flags = flags,
            .dtype = static_cast<uint8_t>(call.buffer.dtype),
            .device = static_cast<uint8_t>(call.buffer.device.type),
            .peer = notes::peer_of(call),
            .tag = call.tag,
            .count = call.buffer.count,
            .input_bytes = sends ? bytes : 0,
            .output_bytes = sends ? 0 : bytes,
            .timeout_ms = group.effective_timeout(timeout_ms)};
}

// Of a step that all ranks of a group take together, such as a split.
inline record::Note note_of_step(record::Kind kind, const GroupCore& group, int64_t timeout_ms,
                                 std::string_view text = {}) {
    return {.group = group.record.slot(),
            .kind = static_cast<uint8_t>(kind),
            .timeout_ms = group.effective_timeout(timeout_ms),
            .text = text};
}

}  // namespace tutti
