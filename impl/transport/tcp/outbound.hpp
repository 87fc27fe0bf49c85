// The sending half of a link: frames, and sends until the other side has answered them. Nothing
// calls back to the link. The lock of the pool guards it; nothing here waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "credit.hpp"
#include "divisions.hpp"
#include "frame.hpp"
#include "frame_queue.hpp"
#include "request.hpp"
#include "unanswered.hpp"

namespace tutti::tcp {

class Stripes;

class Outbound {
public:
    // Requests name that link while they are here.
    Outbound(Link& link, Credit& credit, Stripes& stripes)
        : link_(link), credit_(credit), stripes_(stripes) {}

    void send(Request& request);
    void say(Kind kind, uint32_t id, uint32_t group = 0);
    void say_taken(uint32_t id);
    void say_goodbye(uint32_t group);
    void take_back_sent(uint32_t group, Slot slot);
    // The other side may send Messages of so many bytes more.
    void owe(uint64_t length);
    void push(const Head& head);

    // Answers of the other side. False: it has no right to them.
    [[nodiscard]] bool accepted(uint32_t id);
    [[nodiscard]] bool taken(uint32_t id);
    [[nodiscard]] bool returned(uint32_t id);

    enum class TakenBack {
        Yes,   // Its owner has it again; the receiver gets an empty message.
        No,    // It has begun.
        Asked  // The same, and the other side is asked for it now: a frame is to be sent.
    };
    [[nodiscard]] TakenBack take_back(Request& request);
    // The request leaves: later answers to it are dropped, and the rest goes from a copy. False:
    // no memory is left for that.
    [[nodiscard]] bool release(Request& request) noexcept;

    struct Sent {
        bool has_moved = false;
        int error = 0;  // of the system; 0: none
    };
    // Sends as much as the socket takes; up to max_at_once, if data are expected from there.
    [[nodiscard]] Sent send_frames(int socket, bool expects_data);
    // Pushes the next part of long data. False: there is none.
    bool push_part();
    // The same for another connection.
    [[nodiscard]] std::optional<Part> next_part();
    void sent(Divided& of) { divisions_.sent(of); }

    [[nodiscard]] bool has_frames() const { return !frames_.empty(); }
    [[nodiscard]] bool has_parts() const { return divisions_.has_rest(); }
    [[nodiscard]] bool has_output() const { return has_frames() || !divisions_.empty(); }
    // Nothing is sent from here on. All requests lose their link.
    void close() noexcept;
    [[nodiscard]] bool is_closed() const { return is_closed_; }

private:
    using Turn = FrameQueue::Turn;
    Frame* push_frame(const Head& head, Turn turn);
    void push(const Head& head, Request& request, Turn turn = Turn::BeforeLongData);
    void push_part(const Part& part);
    [[nodiscard]] bool must_be_offered(const Request& send) const;
    [[nodiscard]] Unanswered::Message* find_sent(uint32_t id);
    void pass(size_t bytes);

    Link& link_;
    Credit& credit_;
    Stripes& stripes_;
    FrameQueue frames_;
    Unanswered unanswered_;
    Divisions divisions_;
    bool is_closed_ = false;
};

}  // namespace tutti::tcp
