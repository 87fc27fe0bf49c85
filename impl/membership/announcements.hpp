// News from the coordinator, for the threads of the program that wait for it: who has come, why all
// cannot go on, that its goodbye has arrived. Any thread; one mutex, a leaf.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/deadline.hpp"
#include "base/mutex.hpp"
#include "base/status.hpp"
#include "protocol.hpp"

namespace tutti::membership {

class Announcements {
public:
    void all_have_joined(std::vector<Endpoint> roster);
    // The coordinator's answer to Kind::Who.
    void are_missing(std::string ranks);
    void were_refused(std::string who);
    // The first cause counts, but for calls before the one that it ends.
    void failed(const Failure& failure);
    // From now on a thread waits for the farewell, or none will come any more.
    void said_goodbye();
    void on_bye_ack();

    // Return when all have come, the group has failed, or the deadline has passed: whether one of
    // the first two is so.
    bool await_all(const Deadline& deadline);
    // Throws TIMEOUT that names the missing, unless all come or the group fails meanwhile.
    void await_who_is_missing(const Deadline& deadline);
    void await_bye_ack(const Deadline& deadline);

    [[nodiscard]] bool all_are_known() const;
    [[nodiscard]] std::vector<Endpoint> endpoints() const;  // empty: not all have come
    [[nodiscard]] std::string host_of(int rank) const;
    [[nodiscard]] Failure failure() const;  // or none
    [[nodiscard]] bool has_bye_ack() const;

private:
    mutable Mutex mutex_;
    Condition changed_;
    std::optional<std::vector<Endpoint>> roster_ TUTTI_GUARDED_BY(mutex_);
    Failure failure_ TUTTI_GUARDED_BY(mutex_);
    std::optional<std::string> missing_ TUTTI_GUARDED_BY(mutex_);
    std::string refused_ TUTTI_GUARDED_BY(mutex_);
    bool has_sent_bye_ TUTTI_GUARDED_BY(mutex_) = false;
    bool has_bye_ack_ TUTTI_GUARDED_BY(mutex_) = false;
};

}  // namespace tutti::membership
