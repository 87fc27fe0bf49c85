#include "entries.hpp"

#include <algorithm>

#include "copies.hpp"

namespace tutti::trace {

using record::GroupSlot;

namespace {

constexpr int max_listed_members = 1 << 14;

std::vector<int> members_of(int size, int own, int own_global, uint64_t first_and_step) {
    std::vector<int> ranks(static_cast<size_t>(std::min(size, max_listed_members)), -1);
    const auto first = static_cast<int64_t>(first_and_step & UINT32_MAX);
    const auto step = static_cast<int64_t>(static_cast<int32_t>(first_and_step >> 32));
    for (size_t i = 0; i < ranks.size() && (step != 0 || size == 1); ++i) {
        const int64_t rank = first + step * static_cast<int64_t>(i);
        if (rank >= 0 && rank < max_group_size) ranks[i] = static_cast<int>(rank);
    }
    if (static_cast<size_t>(own) < ranks.size() && ranks[static_cast<size_t>(own)] < 0) {
        ranks[static_cast<size_t>(own)] = own_global;
    }
    return ranks;
}

}  // namespace

int rank_from(uint64_t word) {
    const auto rank = static_cast<int64_t>(word);
    return rank >= 0 && rank < max_group_size ? static_cast<int>(rank) : -1;
}

Group parse_group(const View& slot, const Scale& scale, int own_global) {
    Group group;
    const uint64_t state = slot.word(offsetof(GroupSlot, state));
    if (state != record::group_state::live && state != record::group_state::ended) return group;
    const uint64_t rank_and_size = slot.word(offsetof(GroupSlot, rank_and_size));
    const uint64_t size = rank_and_size >> 32;
    const uint64_t rank = rank_and_size & UINT32_MAX;
    if (size == 0 || size > max_group_size || rank >= size) return group;
    group.is_known = true;
    group.has_ended = state == record::group_state::ended;
    group.rank = static_cast<int>(rank);
    group.size = static_cast<int>(size);
    group.members = slot.word(offsetof(GroupSlot, members));
    group.ranks = members_of(group.size, group.rank, own_global,
                             slot.word(offsetof(GroupSlot, first_and_step)));
    group.made = scale.time_of(slot.word(offsetof(GroupSlot, made)));
    if (group.has_ended) group.ended = scale.time_of(slot.word(offsetof(GroupSlot, ended)));
    group.last_enqueued = slot.word(offsetof(GroupSlot, last_enqueued));
    group.last_completed = slot.word(offsetof(GroupSlot, last_completed));
    group.name = slot.text(offsetof(GroupSlot, name), sizeof GroupSlot::name);
    group.backend = slot.text(offsetof(GroupSlot, backend), sizeof GroupSlot::backend);
    return group;
}

Call parse_call(const View& entry, uint64_t id_and_state, const Scale& scale) {
    using namespace record::field;
    const auto field = [&](Field one) { return entry.word(one * sizeof(uint64_t)); };
    Call call;
    call.id = id_and_state >> 8;
    call.state = static_cast<uint8_t>(id_and_state);
    call.created = scale.time_of(field(created));
    if (field(record::field::started) != 0 && call.state != record::state::scheduled) {
        call.started = scale.time_of(field(record::field::started));
    }
    if (!call.is_open()) call.completed = scale.time_of(field(record::field::completed));
    call.sequence = field(sequence);
    call.count = static_cast<int64_t>(field(count));
    call.input_bytes = field(input_bytes);
    call.output_bytes = field(output_bytes);
    const uint64_t terms = field(group_and_terms);
    call.group = static_cast<uint16_t>(terms);
    call.kind = static_cast<uint8_t>(terms >> 16);
    call.flags = static_cast<uint8_t>(terms >> 24);
    call.dtype = static_cast<uint8_t>(terms >> 32);
    call.op = static_cast<uint8_t>(terms >> 40);
    call.device = static_cast<uint8_t>(terms >> 48);
    call.peer = static_cast<int32_t>(field(peer_and_tag));
    call.tag = static_cast<int32_t>(field(peer_and_tag) >> 32);
    call.timeout_ms = static_cast<int64_t>(field(timeout_ms));
    call.thread = static_cast<uint32_t>(field(thread_and_layout));
    call.layout = static_cast<uint32_t>(field(thread_and_layout) >> 32);
    call.text = entry.text(text * sizeof(uint64_t), record::text_words * sizeof(uint64_t));
    return call;
}

}  // namespace tutti::trace
