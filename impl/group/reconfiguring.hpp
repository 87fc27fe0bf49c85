// The meeting of processes that know each other by handles: those that are left of an older group,
// and newcomers. Each process serves a store of its own, and its handle is the way to that. Rank 0
// of the new group makes sure that all list the same; they then meet at its store. The caller's
// thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/deadline.hpp"
#include "base/mutex.hpp"
#include "group.hpp"
#include "membership/invitation.hpp"
#include "store/store.hpp"

namespace tutti {

// The same until the process ends; the first call begins to serve. One line without spaces.
std::string reconfigure_handle();

// The processes of a new group, by rank.
class ListedProcesses {
public:
    // Throws INVALID_ARGUMENT naming the element: no handle, twice the same, or this process is not
    // among them.
    explicit ListedProcesses(const std::vector<std::string>& handles);

    [[nodiscard]] int rank() const { return rank_; }
    [[nodiscard]] int size() const { return static_cast<int>(places_.size()); }
    [[nodiscard]] const membership::Invitation& place(int rank) const {
        return places_[static_cast<size_t>(rank)];
    }
    // The handles, one on each line.
    [[nodiscard]] const std::string& text() const { return text_; }

private:
    int rank_ = -1;
    std::vector<membership::Invitation> places_;
    std::string text_;
};

// Lasts until the group is made. Meanwhile rank 0 watches whether all processes still exist, and
// else notifies the others at their store.
class ListedMeeting {
public:
    // Returns when all have come with the same list. Throws the same on all that wait: MISMATCH
    // shows both lists, NETWORK and PEER_LOST name a process that is not there, TIMEOUT those that
    // have not come; INVALID_ARGUMENT if this process has used the id before.
    ListedMeeting(uint64_t id, const ListedProcesses& processes, const Deadline& deadline);
    ~ListedMeeting();
    ListedMeeting(const ListedMeeting&) = delete;
    ListedMeeting& operator=(const ListedMeeting&) = delete;

    // `options` have no store, rank and size yet.
    [[nodiscard]] std::shared_ptr<Group> make_group(GroupOptions options) const;

private:
    void lead();
    void follow();
    void wait_for_lists();
    bool has_come(int rank);
    std::string wait_for_rank_0(const std::string& key, const Deadline& deadline);
    std::optional<std::string> await(const std::string& key, int rank, const Deadline& deadline);
    void compare(int rank, const std::string& list);
    void look_for_objection();
    void watch() noexcept;
    void end_watch();
    bool has_ended(int rank) noexcept;
    [[nodiscard]] std::shared_ptr<Store> reach(int rank) const;

    const std::string prefix_;
    const ListedProcesses& processes_;
    const Deadline deadline_;
    const std::shared_ptr<Store> own_;
    std::shared_ptr<Store> store_;                // at rank 0, for this meeting alone
    std::vector<std::shared_ptr<Store>> others_;  // of rank 0: by rank; its own is null

    Mutex mutex_;
    Condition ending_;
    bool is_over_ TUTTI_GUARDED_BY(mutex_) = false;
    std::thread watch_;
};

}  // namespace tutti
