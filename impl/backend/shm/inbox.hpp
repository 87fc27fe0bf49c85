// The messages of one other rank to this one: hears the letters as long as a receive waits for one,
// and reads the data in the stream. Under the lock of the Messages.
#pragma once

#include <cstdint>

#include "mailbox.hpp"
#include "matching.hpp"
#include "operation.hpp"
#include "table.hpp"

namespace tutti::shm {

struct Sender {
    int rank;
    int32_t process;  // in which its memory can be read; 0: it cannot
    Way way;          // which way long data come, if that is not as their size is
};

class Inbox {
public:
    // `theirs`: the bell of the sender. `shared`: memory of its that this rank sees.
    Inbox(const BoxView& view, Bell& theirs, const Sender& sender, const Shared& shared)
        : view_(view), theirs_(theirs), sender_(sender), shared_(shared) {}

    // Goes on as far as it can; true if something came of it.
    bool advance(Matching& matching, Ends& ends);
    [[nodiscard]] bool is_streaming() const { return !streaming_.empty() || !reading_.empty(); }
    // A receive takes a message that came before. False: the sender has taken it back.
    bool take(Receiving& receiving, const Arrival& arrival, Ends& ends);
    [[nodiscard]] bool is_offered(const Arrival& arrival) const {
        return view_.box->offers[arrival.head.offer].load(std::memory_order_acquire) ==
               fate_of(arrival.number, Fate::Offered);
    }
    // Ends the receives that have taken a message whose data are not all there.
    void fail(const Status& status, Ends& ends);
    // Why nothing more can come from there: what stands there is no message.
    [[nodiscard]] const Status& broken() const { return broken_; }

private:
    struct Offer {
        uint64_t number;
        Letter::Head head;
        const std::byte* data;  // null: there are none, or they are not here
        Whereabouts where;
    };
    bool hear(Matching& matching, Ends& ends);
    void give_back(uint64_t letter);
    bool deliver(const Offer& offer, Matching& matching, Ends& ends);
    void keep(const Offer& offer, Matching& matching);
    bool take(Receiving& receiving, const Offer& offer, Matching* matching, Ends& ends);
    [[nodiscard]] bool is_read_there(const Whereabouts& where, size_t bytes) const;
    [[nodiscard]] bool sees(const Whereabouts& where, size_t bytes) const;
    [[nodiscard]] bool read_some(const Receiving& receiving, size_t length) const;
    bool settle(uint64_t number, uint32_t offer, Fate from, Fate to);
    bool read_there(Ends& ends);
    void end_reading(Receiving& receiving, bool has_all, Ends& ends);
    bool read(Ends& ends);
    bool read_head(uint64_t all);
    void read_data(size_t length, Ends& ends);
    bool break_off(const char* what);

    const BoxView view_;
    Bell& theirs_;
    const Sender sender_;
    const Shared& shared_;
    uint64_t next_ = 1;             // number of the next letter
    uint64_t settled_ = 0;          // offers of theirs
    uint64_t read_ = 0;             // bytes of the stream
    List<Receiving> reading_;       // their data in the sender's memory
    List<Receiving> streaming_;     // their data come in the stream
    Receiving* current_ = nullptr;  // of those; whose data come now
    size_t purge_at_ = 64;          // arrivals
    Status broken_;
};

}  // namespace tutti::shm
