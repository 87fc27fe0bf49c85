// Messages between two ranks of a group, among tutti's ranks. Stock Gloo ends the process if a
// message is longer than its receive, and cannot take a message back. So every message begins with
// a frame, which one thread of the group always receives: short data are in it; long data follow
// when the receiver has found their receive. A send ends when its message has found its receive.
// post() and cancel() may be called on any thread.
#pragma once

#include <gloo/context.h>
#include <tutti/ext.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "failure.hpp"
#include "gate.hpp"
#include "worker.hpp"

namespace tutti::gloo_module {

class Messages {
public:
    // `has_left` is called when a rank says goodbye, with the sequence number of its last
    // collective.
    using HasLeft = std::function<void(int rank, uint64_t last)>;

    Messages(const tutti_backend_place& place, std::shared_ptr<gloo::Context> context, Gate& gate,
             HasLeft has_left);
    ~Messages();
    Messages(const Messages&) = delete;
    Messages& operator=(const Messages&) = delete;

    void post(const tutti_backend_call* call);
    // As the function of the table.
    int32_t cancel(const tutti_backend_call* call);
    // Says goodbye behind all that was sent. Waits up to a second until the others have it.
    void leave(uint64_t last_sequence);
    // After the gate has been closed: calls that wait for another rank end.
    void abort(const Failure& why);

private:
    enum Kind : uint32_t {
        Short,         // a message whose data are in the frame
        Announce,      // a long one
        Taken,         // the short message has its receive
        Ready,         // the long message has its receive, and its data are awaited
        Refuse,        // the long message does not fit its receive
        Withdraw,      // the message is taken back, of a short one if it has no receive yet
        Withdrawn,     // it was, of a short one
        Goodbye,       // nothing comes any more
        GoodbyeHeard,  // or goes there
    };
    struct Frame {
        uint32_t kind;
        int32_t tag;
        uint32_t dtype;
        uint32_t reserved;
        int64_t bytes;  // of the data; of a goodbye the last sequence number
        uint64_t id;    // of the message, given by its sender
    };
    static constexpr size_t max_short = 4096;
    // Gloo's own functions have the prefixes 1 to 8.
    static constexpr uint64_t frame_slot = uint64_t{0x41} << 56;
    static constexpr uint64_t data_slot = uint64_t{0x42} << 56;
    struct Arrived {
        int source;
        Frame frame;
        std::vector<char> data;  // of a short one
    };
    struct Fetch {
        const tutti_backend_call* call;
        gloo::transport::UnboundBuffer* buffer = nullptr;
        bool is_withdrawn = false;
    };
    using Key = std::pair<int, uint64_t>;  // the sender, its id
    struct End {
        const tutti_backend_call* call;
        Failure failure;
        int source = -1;
    };
    using Ends = std::vector<End>;

    void send(const tutti_backend_call* call);
    void receive(const tutti_backend_call* call);
    void receive_frames();
    [[nodiscard]] int receive_frame(std::vector<char>& room);
    [[nodiscard]] std::vector<int> connected_ranks() const;
    void take(int source, const std::vector<char>& room);
    void take_message(Arrived arrived, Ends& ends);
    void take_goodbye(int source, uint64_t last, Ends& ends);
    void take_answer(int source, const Frame& frame, Ends& ends);
    void take_withdrawal(int source, uint64_t id);
    void end_sent(int destination, uint64_t id, const Failure& failure, Ends& ends);
    void match(const tutti_backend_call* call, const Arrived& arrived, Ends& ends);
    void fetch(Key key);
    void transmit(int peer, const std::vector<char>& frame, uint64_t id);
    void transmit_data(int peer, uint64_t id, const tutti_backend_call* call);
    void queue(int peer, const Frame& frame);
    // A receive from any rank is one from any other rank.
    [[nodiscard]] bool suits(const tutti_backend_call& receive, const Arrived& arrived) const;
    [[nodiscard]] bool nobody_sends(const tutti_backend_call* call) const;
    [[nodiscard]] Failure left(int rank) const;
    [[nodiscard]] Failure settled(const Failure& failure) const;
    void finish(const Ends& ends) const;
    template <typename Act>
    [[nodiscard]] Failure failure_of(Act&& act) const;

    const tutti_backend_host& host_;
    const int rank_, size_;
    const std::shared_ptr<gloo::Context> context_;
    Gate& gate_;
    const HasLeft has_left_;

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::list<const tutti_backend_call*> waiting_;        // receives, as they were posted
    std::list<Arrived> arrived_;                          // as they came
    std::map<uint64_t, const tutti_backend_call*> sent_;  // that have no receive yet
    std::map<Key, Fetch> fetches_;
    uint64_t last_id_ = 0;
    int unsent_ = 0;               // jobs of the sender
    std::vector<bool> has_heard_;  // this rank's goodbye, by rank
    std::vector<bool> is_gone_;    // said goodbye, by rank

    std::thread receiver_;
    Worker sender_, fetcher_;
};

}  // namespace tutti::gloo_module
