// Do messages and receives meet in the order of posts and arrivals, as in lists that are searched,
// whatever leaves in between? And does a table that is empty keep little?
#include "base/match_table.hpp"

#include <algorithm>
#include <deque>
#include <list>
#include <memory>
#include <random>
#include <vector>

#include "base/keyed_queues.hpp"
#include "support/seed.h"
#include "support/unit.hpp"

namespace {

using namespace tutti;

struct Receive {
    uint64_t slot;
    int peer;
    uint64_t turn;
    QueuePlace<Receive> waiting{};
};
struct Message {
    uint64_t slot;
    int peer;
    QueuePlace<Message> in_stream{};
    QueuePlace<Message> in_slot{};
};
using Table = MatchTable<Receive, Message>;

// The same by searching.
struct Lists {
    std::list<Receive*> receives;  // in their turns
    std::list<Message*> messages;  // in the order in which they came

    [[nodiscard]] Receive* receive_for(uint64_t slot, int peer) const {
        const auto found = std::ranges::find_if(receives, [&](const Receive* one) {
            return one->slot == slot && (one->peer == peer || one->peer == Table::any_peer);
        });
        return found == receives.end() ? nullptr : *found;
    }
    [[nodiscard]] Message* message_for(uint64_t slot, int peer) const {
        const auto found = std::ranges::find_if(messages, [&](const Message* one) {
            return one->slot == slot && (one->peer == peer || peer == Table::any_peer);
        });
        return found == messages.end() ? nullptr : *found;
    }
};

template <typename Item>
Item* random_one(const std::list<Item*>& all, std::mt19937& random) {
    if (all.empty()) return nullptr;
    return *std::next(all.begin(), static_cast<ptrdiff_t>(random() % all.size()));
}

// Both sides of one rank; each step is done in both.
class Twins {
public:
    Twins(uint32_t seed, int peers, uint64_t slots)
        : random_(seed), peers_(static_cast<uint32_t>(peers)), slots_(slots) {}

    void step() {
        switch (random_() % 8) {
            case 0:
            case 1:
            case 2:
                return post();
            case 3:
            case 4:
            case 5:
                return arrive();
            case 6:
                if (Receive* const one = random_one(lists_.receives, random_)) drop(*one);
                return;
            default:
                if (Message* const one = random_one(lists_.messages, random_)) drop(*one);
        }
    }
    // All that has to do with a peer goes, as when it is lost.
    void lose(int peer) {
        for (Receive* const one : std::list(lists_.receives)) {
            if (one->peer == peer) drop(*one);
        }
        for (Message* const one : std::list(lists_.messages)) {
            if (one->peer == peer) drop(*one);
        }
    }
    [[nodiscard]] int any_peer_of_these() { return static_cast<int>(random_() % peers_); }

private:
    void post() {
        const uint64_t slot = random_() % slots_;
        const int peer = static_cast<int>(random_() % (peers_ + 1)) - 1;
        Message* const first = lists_.message_for(slot, peer);
        assert_ptr_equal(table_.message_for(slot, peer), first);
        if (first != nullptr) return drop(*first);
        // Now and then one comes back to its earlier turn.
        const bool comes_back = random_() % 16 == 0 && turns_ > 1;
        const uint64_t turn = comes_back ? turns_ - random_() % std::min<uint64_t>(turns_, 40) : 0;
        add(receives_.emplace_back(Receive{slot, peer, turn > 0 ? 2 * turn - 1 : 2 * ++turns_}));
    }
    void add(Receive& receive) {
        const auto behind = std::ranges::find_if(
            lists_.receives, [&](const Receive* other) { return other->turn >= receive.turn; });
        const bool is_taken = behind != lists_.receives.end() && (*behind)->turn == receive.turn;
        if (is_taken) return;
        lists_.receives.insert(behind, &receive);
        table_.add_receive(receive, receive.slot, receive.peer);
        assert_true(Table::waits(receive));
    }
    void arrive() {
        const uint64_t slot = random_() % slots_;
        const int peer = any_peer_of_these();
        Receive* const first = lists_.receive_for(slot, peer);
        assert_ptr_equal(table_.receive_for(slot, peer), first);
        if (first != nullptr) return drop(*first);
        Message& message = messages_.emplace_back(Message{slot, peer});
        lists_.messages.push_back(&message);
        table_.add_message(message, slot, peer);
    }
    void drop(Receive& receive) {
        lists_.receives.remove(&receive);
        table_.remove_receive(receive);
        assert_false(Table::waits(receive));
    }
    void drop(Message& message) {
        lists_.messages.remove(&message);
        table_.remove_message(message);
    }

    std::mt19937 random_;
    const uint32_t peers_;
    const uint64_t slots_;
    uint64_t turns_ = 0;
    std::deque<Receive> receives_;
    std::deque<Message> messages_;
    Lists lists_;
    Table table_;
};

void messages_and_receives_meet_as_in_lists_that_are_searched(void**) {
    const uint32_t seed = test_seed();
    print_message("seed %u (TUTTI_TEST_SEED)\n", seed);
    for (const uint64_t slots : {uint64_t{1}, uint64_t{3}, uint64_t{500}}) {
        for (const int peers : {1, 3, 40}) {
            Twins twins(seed, peers, slots);
            for (int turn = 0; turn < 5000; ++turn) {
                twins.step();
                if (turn % 1000 == 999) twins.lose(twins.any_peer_of_these());
            }
        }
    }
}

void a_receive_from_any_and_one_of_a_peer_are_served_in_their_turns(void**) {
    Table table;
    Receive any_first{7, Table::any_peer, 1};
    Receive named{7, 2, 2};
    Receive any_last{7, Table::any_peer, 3};
    for (Receive* const one : {&any_first, &named, &any_last}) {
        table.add_receive(*one, one->slot, one->peer);
    }
    assert_ptr_equal(table.receive_for(7, 2), &any_first);
    assert_ptr_equal(table.first_receive(7, 2), &named);
    table.remove_receive(any_first);
    assert_ptr_equal(table.receive_for(7, 2), &named);
    assert_ptr_equal(table.receive_for(7, 1), &any_last);
    table.add_receive(any_first, 7, Table::any_peer);
    assert_ptr_equal(table.receive_for(7, 1), &any_first);
    assert_null(table.receive_for(8, 2));
}

void messages_for_their_peer_alone_are_not_for_any(void**) {
    Table table;
    Message own{7, 0};
    Message other{7, 1};
    table.add_message_for_peer(own, 7, 0);
    table.add_message(other, 7, 1);
    assert_ptr_equal(table.message_for(7, Table::any_peer), &other);
    table.remove_message(other);
    assert_null(table.message_for(7, Table::any_peer));
    assert_ptr_equal(table.message_for(7, 0), &own);
}

struct Item {
    QueuePlace<Item> place;
};

void an_empty_table_gives_its_room_back(void**) {
    KeyedQueues<Item, &Item::place> queues;
    const size_t least = queues.room();
    std::vector<Item> items(20'000);
    for (size_t index = 0; index < items.size(); ++index) queues.push_back(items[index], {index});
    assert_int_equal(queues.queues(), items.size());
    assert_true(queues.room() >= items.size() / 2);
    for (size_t index = 0; index < items.size(); ++index) {
        assert_ptr_equal(queues.first({index}), &items[index]);
        queues.remove(items[index]);
        queues.remove(items[index]);  // it is not there
        assert_null(queues.first({index}));
    }
    assert_int_equal(queues.queues(), 0);
    assert_int_equal(queues.room(), least);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(messages_and_receives_meet_as_in_lists_that_are_searched),
        TUTTI_TEST(a_receive_from_any_and_one_of_a_peer_are_served_in_their_turns),
        TUTTI_TEST(messages_for_their_peer_alone_are_not_for_any),
        TUTTI_TEST(an_empty_table_gives_its_room_back),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
