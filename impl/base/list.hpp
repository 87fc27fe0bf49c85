// Lists of items that live elsewhere, linked through themselves: nothing is allocated, and an item
// leaves its list without being looked for. Under one lock.
#pragma once

namespace tutti {

// An element of one list at most.
struct Listed {
    Listed* before = nullptr;
    Listed* after = nullptr;

    Listed() = default;
    Listed(const Listed&) = delete;
    Listed& operator=(const Listed&) = delete;
    ~Listed() = default;

    [[nodiscard]] bool is_listed() const { return after != nullptr; }
    void leave_list() {
        if (!is_listed()) return;
        before->after = after;
        after->before = before;
        before = after = nullptr;
    }
    void enter_list_before(Listed& other) {
        before = other.before;
        after = &other;
        other.before->after = this;
        other.before = this;
    }
};

// Owns nothing, allocates nothing.
template <typename Item>
class List {
public:
    List() { end_.before = end_.after = &end_; }
    List(const List&) = delete;
    List& operator=(const List&) = delete;

    [[nodiscard]] bool empty() const { return end_.after == &end_; }
    [[nodiscard]] Item& front() { return static_cast<Item&>(*end_.after); }
    [[nodiscard]] const Item& front() const { return static_cast<const Item&>(*end_.after); }
    [[nodiscard]] bool has_one() const { return !empty() && end_.after == end_.before; }
    void push_back(Item& item) { item.enter_list_before(end_); }
    Item& take_front() {
        Item& first = front();
        first.leave_list();
        return first;
    }
    // All of the other list, which is empty then.
    void take(List& other) {
        while (!other.empty()) push_back(other.take_front());
    }
    // The first for which `found` is true, or null; `found` may remove that one from the list, and
    // no other.
    template <typename Found>
    Item* find(Found&& found) {
        for (Listed* at = end_.after; at != &end_;) {
            auto* const item = static_cast<Item*>(at);
            at = at->after;
            if (found(*item)) return item;
        }
        return nullptr;
    }

private:
    Listed end_;
};

}  // namespace tutti
