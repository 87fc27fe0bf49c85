#include "frame_queue.hpp"

#include <algorithm>
#include <utility>

namespace tutti::tcp {

void Frame::pass(size_t bytes) {
    const size_t of_head = std::min(bytes, sizeof head - head_sent);
    head_sent += of_head;
    data = data.subspan(bytes - of_head);
}

void Frame::drop() {
    empty();
    head.id = 0;
    head.kind = Kind::Credit;
}

void Frame::empty() {
    head.length = 0;
    if (head.kind == Kind::Data) head.slot = Head::withdrawn;
    data = {};
    if (request != nullptr) request->frame = nullptr;
    request = nullptr;
}

Frame& FrameQueue::push(const Head& head, Turn turn) {
    const bool is_last = turn == Turn::Last;
    if (is_last && head.kind != Kind::Goodbye) return long_.emplace_back(Frame{head});
    while (is_last && !long_.empty()) move_first_long();
    return next_.emplace_back(Frame{head});
}

void FrameQueue::note_begun() {
    if (next_.empty() && !long_.empty() && long_.front().head_sent > 0) move_first_long();
}

void FrameQueue::clear() {
    next_.clear();
    long_.clear();
}

void FrameQueue::move_first_long() {
    Frame& moved = next_.emplace_back(std::move(long_.front()));
    long_.pop_front();
    if (moved.request != nullptr) moved.request->frame = &moved;
}

}  // namespace tutti::tcp
