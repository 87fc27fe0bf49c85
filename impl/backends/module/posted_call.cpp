#include "posted_call.hpp"

#include <utility>

namespace tutti::ext {

namespace {

template <typename Byte>
Few<tutti_piece> pieces_of(const Pieces<Byte>& pieces, tutti_dtype dtype) {
    Few<tutti_piece> raw;
    raw.reserve(pieces.size());
    for (const auto piece : pieces) {
        raw.add({const_cast<std::remove_const_t<Byte>*>(piece.data()),
                 static_cast<int64_t>(piece.size() / element_size(dtype))});
    }
    return raw;
}

}  // namespace

PostedCall::PostedCall(FlatCall call, uint64_t sequence, const Deadline& deadline, int rank,
                       int size, std::shared_ptr<Work> work)
    : call_(std::move(call)),
      rank_(rank),
      size_(size),
      deadline_(deadline),
      work_(std::move(work)),
      begun_(call_.begun),
      inputs_(pieces_of(call_.inputs, call_.dtype)),
      outputs_(pieces_of(call_.outputs, call_.dtype)) {
    begin(call_.dtype, call_.device, deadline);
    raw_.kind = static_cast<tutti_call_kind>(call_.fingerprint.kind);
    raw_.sequence = sequence;
    raw_.op = call_.op.number();
    if (call_.op.factor() != nullptr) raw_.op = TUTTI_PREMUL_SUM;
    raw_.root = call_.root;
    raw_.peer = -1;
    raw_.flags = call_.sizes == FlatCall::Sizes::Even ? TUTTI_CALL_EVEN : 0;
    raw_.fingerprint = &call_.fingerprint;
    raw_.fingerprint_size = sizeof call_.fingerprint;
    for (const FlatCall& part : call_.calls) {
        parts_.push_back(std::make_unique<PostedCall>(part, sequence, deadline, rank, size));
        part_pointers_.push_back(parts_.back()->raw());
    }
    point_to_pieces();
}

PostedCall::PostedCall(const Send& message, const Deadline& deadline, int rank,
                       std::shared_ptr<Work> work)
    : rank_(rank),
      size_(0),
      deadline_(deadline),
      work_(std::move(work)),
      begun_(message.begun),
      inputs_(tutti_piece{const_cast<void*>(message.buffer.data), message.buffer.count}),
      memory_(message.memory) {
    begin(message.buffer.dtype, message.buffer.device, deadline);
    raw_.kind = TUTTI_CALL_SEND;
    raw_.root = -1;
    raw_.peer = message.destination;
    raw_.tag = message.tag;
    point_to_pieces();
}

PostedCall::PostedCall(const Receive& message, const Deadline& deadline, int rank,
                       std::shared_ptr<Work> work)
    : rank_(rank),
      size_(0),
      deadline_(deadline),
      work_(std::move(work)),
      begun_(message.begun),
      outputs_(tutti_piece{message.buffer.data, message.buffer.count}) {
    begin(message.buffer.dtype, message.buffer.device, deadline);
    raw_.kind = TUTTI_CALL_RECEIVE;
    raw_.root = -1;
    raw_.peer = message.source;
    raw_.tag = message.tag;
    point_to_pieces();
}

void PostedCall::begin(tutti_dtype dtype, const Device& device, const Deadline& deadline) {
    raw_.struct_size = sizeof raw_;
    raw_.dtype = dtype;
    raw_.element_size = static_cast<uint32_t>(element_size(dtype));
    raw_.device_type = device.type;
    raw_.device_index = device.index;
    raw_.timeout_ms = deadline.poll_ms();
    raw_.host_data = this;
}

void PostedCall::point_to_pieces() {
    raw_.inputs = inputs_.begin();
    raw_.input_count = static_cast<int64_t>(inputs_.size());
    raw_.outputs = outputs_.begin();
    raw_.output_count = static_cast<int64_t>(outputs_.size());
    raw_.calls = part_pointers_.data();
    raw_.call_count = static_cast<int64_t>(part_pointers_.size());
}

}  // namespace tutti::ext
