// A group's messages: receives that wait for one, messages that no receive has taken yet, and which
// ranks send no more. There may be messages before this rank has made the group. The lock of the
// pool guards it. Ranks are those of the world, but in what a transfer is told.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "base/status.hpp"
#include "completions.hpp"
#include "membership/membership.hpp"
#include "request.hpp"

namespace tutti::tcp {

// A message that came before its receive: all of it, or an offer.
struct Arrival {
    Link* link;
    int peer;
    uint64_t slot;
    size_t length;
    bool is_offer;
    uint32_t id;
    std::unique_ptr<std::byte[]> data;  // of a message
    bool is_whole;                      // else its data are coming,
    Request* receiver = nullptr;        // for that one, if any
    bool is_taken_back = false;
    bool is_returned = false;  // its window, too
};

class Mailbox {
public:
    // `unattended` counts the requests of all mailboxes that no collective waits for.
    Mailbox(uint32_t group, Completions& completions, std::atomic<size_t>& unattended)
        : group_(group), completions_(completions), unattended_(unattended) {}

    [[nodiscard]] uint32_t group() const { return group_; }
    // Null: this rank has not made the group yet.
    [[nodiscard]] Membership* members() const { return members_; }
    void attach(Membership& members) { members_ = &members; }

    // Adds a post. It is pending until finish().
    void enter(Request& request);
    void await(Request& request) { posted_.push_back(&request); }
    // Takes the first receive for such a message; null: there is none.
    Request* match(int peer, uint64_t slot);
    // The first message for a receive that is not under way to another one.
    Arrival* find(const Request& request);
    Arrival& add(Arrival arrival) { return arrivals_.emplace_back(std::move(arrival)); }
    void remove(const Arrival& arrival);
    // Messages of that rank in that slot are taken back.
    void empty(int peer, uint64_t slot);
    std::list<Arrival>& arrivals() { return arrivals_; }

    // Its transfer is done. Only the first end counts.
    void finish(Request& request, Status status, size_t bytes) noexcept;
    // By a message of that length.
    void finish_receive(Request& request, size_t length) noexcept;
    // It ends without a word.
    void drop(Request& request) noexcept;
    void finish_all(const Status& status) noexcept;

    // That rank has left, and nothing more comes from it.
    void lose(int peer) noexcept;
    [[nodiscard]] bool is_gone(int peer) const;
    [[nodiscard]] Status why_gone(int peer) const;
    // That rank's connection has gone.
    void forget(const Link& link) noexcept;

    std::set<int> left;  // what they sent may still be coming
    Status aborted;
    size_t requests = 0;  // that still have an owner
    Condition emptied;

private:
    [[nodiscard]] int rank_of(int peer) const { return peer < 0 ? peer : members_->rank_of(peer); }

    const uint32_t group_;
    Completions& completions_;
    std::atomic<size_t>& unattended_;
    Membership* members_ = nullptr;
    std::vector<Request*> posted_;   // in their order
    std::list<Arrival> arrivals_;    // as well
    std::vector<Request*> pending_;  // all, in no order
    std::set<int> gone_;
};

}  // namespace tutti::tcp
