#include "notes.hpp"

#include <algorithm>
#include <utility>

namespace tutti {

namespace {

template <typename Pieces>
uint64_t bytes_of(const Pieces& pieces) {
    uint64_t bytes = 0;
    for (const auto& piece : pieces) bytes += piece.size();
    return bytes;
}

record::Note note_of(const Fingerprint& call, const GroupCore& group, const CallNote& note) {
    const uint8_t flags = note.is_in_background ? record::flag::in_background : 0;
    return {.group = group.record.slot(),
            .kind = static_cast<uint8_t>(call.kind),
            .flags = flags,
            .dtype = static_cast<uint8_t>(call.dtype),
            .op = static_cast<uint8_t>(std::min<uint32_t>(call.op, record::own_op)),
            .device = static_cast<uint8_t>(call.device),
            .peer = call.root,
            .count = call.count,
            .timeout_ms = group.effective_timeout(note.timeout_ms),
            .layout = static_cast<uint32_t>(call.layout >> 32),
            .text = note.tag};
}

record::Note note_of_message(const ConstView& buffer, bool sends, int peer, int tag,
                             const GroupCore& group, const CallNote& note) {
    const uint8_t flags = note.is_in_background ? record::flag::in_background : 0;
    return {.group = group.record.slot(),
            .kind = static_cast<uint8_t>(sends ? record::Kind::Send : record::Kind::Receive),
            .flags = flags,
            .dtype = static_cast<uint8_t>(buffer.dtype),
            .device = static_cast<uint8_t>(buffer.device.type),
            .peer = peer,
            .tag = tag,
            .count = buffer.count,
            .input_bytes = sends ? buffer.size() : 0,
            .output_bytes = sends ? 0 : buffer.size(),
            .timeout_ms = group.effective_timeout(note.timeout_ms),
            .text = note.tag};
}

// The operation for observers, who need more than the note.
record::Operation operation_of(const char* name, const GroupCore& group, record::Note note) {
    record::Operation operation;
    operation.name = name;
    operation.group = group.identity.name;
    operation.rank = group.identity.rank;
    operation.size = group.identity.size;
    operation.tag = note.text;
    note.text = {};
    operation.facts = note;
    return operation;
}

void add_buffers(record::Operation& operation, const FlatCall& call) {
    const auto add = [&](auto& buffers, const auto& piece) {
        buffers.push_back(
            {piece.data(), piece.size(), call.dtype, call.device.type, call.device.index});
    };
    for (const ConstBytes piece : call.inputs) add(operation.inputs, piece);
    for (const Bytes piece : call.outputs) add(operation.outputs, piece);
    for (const FlatCall& one : call.calls) add_buffers(operation, one);
}

record::Call record_of_message(const char* name, const ConstView& buffer, bool sends,
                               const GroupCore& group, const record::Note& note) {
    return {note, record::state::started, [&] {
                record::Operation operation = operation_of(name, group, note);
                auto& buffers = sends ? operation.inputs : operation.outputs;
                buffers.push_back({buffer.data, buffer.size(), buffer.dtype, buffer.device.type,
                                   buffer.device.index});
                return operation;
            }};
}

}  // namespace

record::Call record_of(const FlatCall& call, const GroupCore& group, const CallNote& given) {
    record::Note note = note_of(call.fingerprint, group, given);
    note.input_bytes = bytes_of(call.inputs);
    note.output_bytes = bytes_of(call.outputs);
    return {note, record::state::scheduled, [&] {
                record::Operation operation = operation_of(call_name(call), group, note);
                add_buffers(operation, call);
                return operation;
            }};
}

record::Call record_of(const Fingerprint& call, const GroupCore& group, const CallNote& given) {
    const record::Note note = note_of(call, group, given);
    return {note, record::state::scheduled,
            [&] { return operation_of(name_of(call.kind), group, note); }};
}

record::Call record_of(const Send& call, const GroupCore& group, const CallNote& given) {
    const record::Note note =
        note_of_message(call.buffer, true, call.destination, call.tag, group, given);
    return record_of_message(call_name(call), call.buffer, true, group, note);
}

record::Call record_of(const Receive& call, const GroupCore& group, const CallNote& given) {
    const ConstView buffer(call.buffer.data, call.buffer.count, call.buffer.dtype,
                           call.buffer.device);
    const record::Note note = note_of_message(buffer, false, call.source, call.tag, group, given);
    return record_of_message(call_name(call), buffer, false, group, note);
}

record::Call record_of(record::Kind kind, const GroupCore& group, int64_t timeout_ms,
                       std::string_view what) {
    const record::Note note{.group = group.record.slot(),
                            .kind = static_cast<uint8_t>(kind),
                            .timeout_ms = group.effective_timeout(timeout_ms),
                            .text = what};
    return {note, record::state::started};
}

}  // namespace tutti
