// A group's messages with tags, on their way to the listener that matches them. The lock of the
// pool guards it. Ranks are those of the world.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "membership/membership.hpp"
#include "request.hpp"
#include "transport/channel.hpp"
#include "transport/tagged.hpp"

namespace tutti::tcp {

struct Arrival;
class Tagged;

struct Post final : TaggedPost {
    void* owner = nullptr;
    bool is_send = false;
    std::optional<Transfer> transfer{};
    std::optional<Request> request{};
};

// The groups with events of which their listeners do not know yet.
class News {
public:
    void add(Tagged& group);
    void remove(const Tagged& group) noexcept;
    // Null: there is no more news.
    [[nodiscard]] std::shared_ptr<TaggedMessages::Listener> take() noexcept;
    // Without the lock.
    [[nodiscard]] bool any() const { return has_any_; }

private:
    std::vector<Tagged*> groups_;
    std::atomic<bool> has_any_{false};
};

class Tagged {
public:
    explicit Tagged(News& news) : news_(news) {}
    ~Tagged() { news_.remove(*this); }
    Tagged(const Tagged&) = delete;
    Tagged& operator=(const Tagged&) = delete;

    void open(std::weak_ptr<TaggedMessages::Listener> listener);
    [[nodiscard]] std::shared_ptr<TaggedMessages::Listener> listener() const {
        return listener_.lock();
    }

    // One that was used before, if there is any. It has no request yet.
    [[nodiscard]] std::unique_ptr<Post> make_post(void* owner, bool is_send);
    // It will not end.
    void free(Post& post) noexcept { keep(std::unique_ptr<Post>(&post)); }

    void came(Arrival& arrival);
    // Its transfer is done.
    void ended(Post& post);
    void left(int peer);
    void aborted(const Status& status);
    // Appends the events. Posts that have ended may be used again.
    void collect(std::vector<TaggedMessages::Event>& events);

private:
    using Event = TaggedMessages::Event;
    void add(Event event);
    void keep(std::unique_ptr<Post> post) noexcept;

    News& news_;
    std::weak_ptr<TaggedMessages::Listener> listener_;
    std::vector<Event> events_;
    std::vector<std::unique_ptr<Post>> ended_;  // whose events are here
    std::vector<std::unique_ptr<Post>> spare_;
};

}  // namespace tutti::tcp
