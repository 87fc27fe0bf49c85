// Queues of items that live elsewhere, each found by its key. To enter, to leave and to find take
// the same time however many items and keys there are, and allocate nothing: the first item of a
// queue stands for it in the table. The table alone grows with the number of queues, and shrinks
// when the last of them is empty. Under one lock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace tutti {

struct QueueKey {
    uint64_t number = 0;
    int peer = 0;
    bool operator==(const QueueKey&) const = default;
};

// The place of an item in one queue at most.
template <typename Item>
struct QueuePlace {
    QueueKey key;
    Item* before = nullptr;
    Item* after = nullptr;
    bool is_taken = false;
    // The first item of a queue alone has these.
    Item* last = nullptr;
    Item* next_queue = nullptr;  // with the same place in the table
};

template <typename Item, QueuePlace<Item> Item::*place>
class KeyedQueues {
public:
    KeyedQueues() = default;
    KeyedQueues(const KeyedQueues&) = delete;
    KeyedQueues& operator=(const KeyedQueues&) = delete;

    [[nodiscard]] static bool holds(const Item& item) { return (item.*place).is_taken; }
    // The next one in its queue, or null.
    [[nodiscard]] static Item* after(const Item& item) { return (item.*place).after; }
    // Null: the queue is empty.
    [[nodiscard]] Item* first(const QueueKey& key) const { return *link_to(key); }
    [[nodiscard]] Item* last(const QueueKey& key) const {
        const Item* const first = *link_to(key);
        return first == nullptr ? nullptr : (first->*place).last;
    }
    [[nodiscard]] size_t queues() const { return queues_; }
    // Room in the table; what nobody uses is given back.
    [[nodiscard]] size_t room() const { return mask_ + 1; }

    void push_back(Item& item, const QueueKey& key) noexcept {
        QueuePlace<Item>& mine = item.*place;
        mine = {key, nullptr, nullptr, true, &item, nullptr};
        Item** const link = link_to(key);
        if (*link != nullptr) {
            QueuePlace<Item>& first = (*link)->*place;
            mine.before = first.last;
            (first.last->*place).after = &item;
            first.last = &item;
            return;
        }
        *link = &item;
        if (++queues_ > room()) grow();
    }
    // `next` is in the queue that it enters.
    void insert_before(Item& item, Item& next) noexcept {
        QueuePlace<Item>& mine = item.*place;
        QueuePlace<Item>& behind = next.*place;
        mine = {behind.key, behind.before, &next, true, nullptr, nullptr};
        if (behind.before != nullptr) {
            (behind.before->*place).after = &item;
        } else {
            *link_to(behind.key) = &item;
            mine.last = behind.last;
            mine.next_queue = behind.next_queue;
        }
        behind.before = &item;
    }
    void remove(Item& item) noexcept {
        const QueuePlace<Item>& was = item.*place;
        if (!was.is_taken) return;
        if (was.before == nullptr) {
            remove_first(was);
        } else {
            (was.before->*place).after = was.after;
            if (was.after != nullptr) {
                (was.after->*place).before = was.before;
            } else {
                ((*link_to(was.key))->*place).last = was.before;
            }
        }
        item.*place = {};
    }

private:
    static constexpr size_t room_inside = 8;
    static constexpr size_t room_kept = 64;  // of an empty table

    static size_t hash(const QueueKey& key) {
        uint64_t mixed = key.number + (uint64_t{static_cast<uint32_t>(key.peer)} << 40);
        for (int turn = 0; turn < 2; ++turn) mixed = (mixed ^ mixed >> 32) * 0x9e3779b97f4a7c15;
        return static_cast<size_t>(mixed ^ mixed >> 32);
    }
    // The pointer to the first item of that queue, or where it would be.
    [[nodiscard]] Item** link_to(const QueueKey& key) const {
        Item** link = &table()[hash(key) & mask_];
        while (*link != nullptr && !(((*link)->*place).key == key)) {
            link = &((*link)->*place).next_queue;
        }
        return link;
    }
    [[nodiscard]] Item** table() const { return many_ ? many_.get() : few_.data(); }

    void remove_first(const QueuePlace<Item>& was) noexcept {
        Item** const link = link_to(was.key);
        if (was.after == nullptr) {
            *link = was.next_queue;
            if (--queues_ == 0 && room() > room_kept) give_back();
            return;
        }
        QueuePlace<Item>& next = was.after->*place;
        next.before = nullptr;
        next.last = was.last;
        next.next_queue = was.next_queue;
        *link = was.after;
    }
    // Without memory it stays as it is, and is slower.
    void grow() noexcept {
        const size_t more = 2 * room();
        std::unique_ptr<Item*[]> larger(new (std::nothrow) Item*[more]());
        if (!larger) return;
        for (size_t index = 0; index < room(); ++index) {
            for (Item* first = table()[index]; first != nullptr;) {
                Item* const next = (first->*place).next_queue;
                Item** const link = &larger[hash((first->*place).key) & (more - 1)];
                (first->*place).next_queue = *link;
                *link = first;
                first = next;
            }
        }
        many_ = std::move(larger);
        mask_ = more - 1;
    }
    void give_back() noexcept {
        many_.reset();
        few_ = {};
        mask_ = room_inside - 1;
    }

    mutable std::array<Item*, room_inside> few_{};
    std::unique_ptr<Item*[]> many_;
    size_t mask_ = room_inside - 1;
    size_t queues_ = 0;
};

}  // namespace tutti
