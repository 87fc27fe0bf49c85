// The connections that have not proven yet that they belong: a server keeps so many of them, and
// closes the oldest first, so that idle ones never keep out who belongs. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <optional>

namespace tutti::net {

// How many descriptors this process may open beside those that are open now.
size_t free_descriptors();
// How many strangers a server keeps at a time: a quarter of those, within bounds.
size_t max_strangers();

// `Id` is how the server names a connection.
template <typename Id>
class PendingPeers {
public:
    explicit PendingPeers(size_t most = max_strangers()) : most_(most) {}

    // A new connection. Returns the one to be closed for it, if they are too many now.
    std::optional<Id> add(Id id) {
        waiting_.push_back(id);
        return waiting_.size() > most_ ? take_oldest() : std::nullopt;
    }
    // It has proven that it belongs, or is gone.
    void remove(Id id) { std::erase(waiting_, id); }
    // The one to be closed where a place or a descriptor is wanted; nothing if there is none.
    std::optional<Id> take_oldest() {
        if (waiting_.empty()) return std::nullopt;
        const Id oldest = waiting_.front();
        waiting_.pop_front();
        return oldest;
    }
    [[nodiscard]] std::optional<Id> oldest() const {
        return waiting_.empty() ? std::nullopt : std::optional<Id>(waiting_.front());
    }
    [[nodiscard]] size_t size() const { return waiting_.size(); }

private:
    const size_t most_;
    std::deque<Id> waiting_;  // the oldest first
};

}  // namespace tutti::net
