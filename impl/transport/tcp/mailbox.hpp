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

#include "base/keyed_queues.hpp"
#include "base/match_table.hpp"
#include "base/mutex.hpp"
#include "base/status.hpp"
#include "completions.hpp"
#include "frame.hpp"
#include "membership/membership.hpp"
#include "request.hpp"
#include "tagged.hpp"

namespace tutti::tcp {

// A message that came before its receive: all of it, or an offer.
struct Arrival final : TaggedArrival {
    Arrival(Link* of_link, const Head& head, int from)
        : link(of_link), peer(from), slot(head.slot), length(head.length), id(head.id) {}

    Link* const link;
    const int peer;
    const uint64_t slot;
    size_t length;
    uint32_t id;
    bool is_offer = false;
    std::unique_ptr<std::byte[]> data{};  // of a message
    bool is_whole = false;                // else its data are coming,
    Request* receiver = nullptr;          // for that one, if any
    bool is_taken_back = false;
    bool is_returned = false;  // its window, too
    // The listener of the group's tagged messages gets it; it stays for that, though its sender
    // has withdrawn it.
    [[nodiscard]] bool is_tagged() const { return Slot::is_tagged(slot); }
    bool is_withdrawn = false;
    // Among those that no receive has taken, and, if it has an id, among those of its peer.
    QueuePlace<Arrival> in_stream{};
    QueuePlace<Arrival> in_slot{};
    QueuePlace<Arrival> by_id{};
    std::list<Arrival>::iterator place{};  // among all
};

class Mailbox {
public:
    // `unattended` counts the requests of all mailboxes that no collective waits for.
    Mailbox(uint32_t group, Completions& completions, News& news, std::atomic<size_t>& unattended)
        : group_(group), completions_(completions), unattended_(unattended), tagged_(news) {}

    [[nodiscard]] uint32_t group() const { return group_; }
    // Null: this rank has not made the group yet.
    [[nodiscard]] Membership* members() const { return members_; }
    void attach(Membership& members) { members_ = &members; }

    // Adds a post. It is pending until finish().
    void enter(Request& request);
    void await(Request& request);
    // Takes the first receive for such a message; null: there is none.
    Request* match(int peer, uint64_t slot);
    // The first message for a receive that is not under way to another one.
    [[nodiscard]] Arrival* find(const Request& request) const;
    // A message whose data are coming, or an offer.
    Arrival& add(Link& link, const Head& head, int peer);
    // All data of a tagged one have come.
    void end_tagged(Arrival& arrival);
    // Its data are coming, and are for that receive.
    void reserve(Arrival& arrival, Request& receiver);
    void remove(Arrival& arrival);
    // The message of that rank with that id, if no receive has taken it; null: there is none.
    [[nodiscard]] Arrival* find_to_return(int peer, uint32_t id) const;
    // Only an empty one stays in its place.
    void give_back(Arrival& arrival);
    // Messages of that rank in that slot are taken back.
    void empty(int peer, uint64_t slot);
    [[nodiscard]] const std::list<Arrival>& arrivals() const { return arrivals_; }

    // Its transfer is done. Only the first end counts.
    void finish(Request& request, Status status, size_t bytes) noexcept;
    // By a message of that length.
    void finish_receive(Request& request, size_t length) noexcept;
    // It ends without a word.
    void drop(Request& request) noexcept;
    void finish_all(const Status& status) noexcept;
    // All but those of collectives.
    void finish_messages(const Status& status) noexcept;
    // Throws why there shall be no more posts in that slot.
    void check_not_aborted(Slot slot) const;

    // The rank has left, and nothing more comes from it.
    void lose(int peer) noexcept;
    [[nodiscard]] bool is_gone(int peer) const;
    [[nodiscard]] Status why_gone(int peer) const;
    // The rank's connection has ended.
    void forget(const Link& link) noexcept;

    [[nodiscard]] Tagged& tagged() { return tagged_; }
    // The events of tagged messages; ranks are those of the group.
    void collect(std::vector<TaggedMessages::Event>& events);

    std::set<int> left;  // what they sent may still be coming
    Status aborted;
    Status messages_aborted;  // those that are no collective's
    size_t requests = 0;      // that still have an owner
    Condition emptied;

private:
    using Matching = MatchTable<Request, Arrival>;

    [[nodiscard]] int rank_of(int peer) const { return peer < 0 ? peer : members_->rank_of(peer); }
    void withdraw(Arrival& arrival) noexcept;
    template <typename Chosen>
    void remove_if(Chosen&& chosen);

    const uint32_t group_;
    Completions& completions_;
    std::atomic<size_t>& unattended_;
    Membership* members_ = nullptr;
    uint64_t turns_ = 0;
    Matching matching_;
    std::list<Arrival> arrivals_;
    KeyedQueues<Arrival, &Arrival::by_id> by_id_;
    std::vector<Request*> pending_;  // all, in no order
    std::set<int> gone_;
    Tagged tagged_;
};

}  // namespace tutti::tcp
