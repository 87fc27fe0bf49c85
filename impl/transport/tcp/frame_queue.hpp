// The frames that are to be sent on a connection, in the order in which they go. The lock of the
// pool guards it.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <span>

#include "frame.hpp"
#include "request.hpp"

namespace tutti::tcp {

// One of them, of which a request knows as long as it is here.
struct Frame {
    Head head;
    size_t head_sent = 0;
    std::span<const std::byte> data{};  // the rest
    Request* request = nullptr;
    std::unique_ptr<std::byte[]> copy{};
    bool is_taken = false;  // the other side has said so
    Divided* part_of = nullptr;

    [[nodiscard]] bool head_has_gone() const { return head_sent == sizeof head; }
    [[nodiscard]] size_t left() const { return sizeof head - head_sent + data.size(); }
    void pass(size_t bytes);
    void empty();
    // Nothing but its credit goes.
    void drop();
};

// Short frames go before long data that have not begun: an Accept behind these would keep the other
// side from sending at the same time. Nothing overtakes a goodbye.
class FrameQueue {
public:
    enum class Turn { BeforeLongData, Last };

    [[nodiscard]] bool empty() const { return next_.empty() && long_.empty(); }
    [[nodiscard]] Frame& front() { return next_.empty() ? long_.front() : next_.front(); }
    Frame& push(const Head& head, Turn turn);
    void pop_front() { (next_.empty() ? long_ : next_).pop_front(); }
    // Some of the front has gone: nothing overtakes it any more.
    void note_begun();
    void clear();
    // act(frame) for each in order, as long as it returns true.
    template <typename Act>
    void each(Act&& act) {
        for (std::deque<Frame>* const part : {&next_, &long_}) {
            for (Frame& frame : *part) {
                if (!act(frame)) return;
            }
        }
    }

private:
    void move_first_long();

    std::deque<Frame> next_;
    std::deque<Frame> long_;  // long data that have not begun, behind all others
};

}  // namespace tutti::tcp
