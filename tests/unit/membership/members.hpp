// The members of one group in one process, each with what it heard; the coordinator is rank 0's, or
// that to which they are invited.
#pragma once

#include <future>
#include <memory>
#include <optional>
#include <vector>

#include "base/error.hpp"
#include "base/mutex.hpp"
#include "membership/invitation.hpp"
#include "membership/membership.hpp"
#include "membership/processes.hpp"
#include "net/socket.hpp"
#include "support/unit.hpp"

namespace tutti::test {

inline Deadline ample() {
    return Deadline::after_ms(60'000);
}

// One rank, and what it heard.
class Member final : public MembershipListener {
public:
    Member(const std::shared_ptr<Store>& store, int rank, int size,
           const Deadline& deadline = ample(),
           const std::optional<membership::Invitation>& coordinator = {})
        : membership_(std::make_unique<Membership>(
              coordinator ? meet_through(*coordinator, store, rank, size, "", deadline)
                          : bootstrap_processes(store, rank, size, "", deadline),
              0, all_ranks(size))) {
        membership_->subscribe(*this);
    }
    ~Member() { destroy(); }
    Member(const Member&) = delete;
    Member& operator=(const Member&) = delete;

    Membership& operator*() { return *membership_; }
    Membership* operator->() { return membership_.get(); }
    // As a process that dies.
    void die() {
        if (!membership_) return;
        membership_->unsubscribe();
        membership_->world().abandon();
        membership_.reset();
    }
    void destroy() {
        if (!membership_) return;
        membership_->unsubscribe();
        membership_.reset();
    }

    Status failure() {
        Lock lock(mutex_);
        const auto deadline = ample();
        while (failures_.empty() && changed_.wait(lock, deadline)) {
        }
        return failures_.empty() ? Status{0, 0, 0, "none came"} : failures_[0];
    }
    size_t failures() {
        const Lock lock(mutex_);
        return failures_.size();
    }
    std::vector<int> farewells(size_t count) {
        Lock lock(mutex_);
        const auto deadline = ample();
        while (farewells_.size() < count && changed_.wait(lock, deadline)) {
        }
        return farewells_;
    }

private:
    static std::vector<int> all_ranks(int size) {
        std::vector<int> ranks;
        for (int rank = 0; rank < size; ++rank) ranks.push_back(rank);
        return ranks;
    }
    void failed(const Status& status) noexcept override {
        const Lock lock(mutex_);
        failures_.push_back(status);
        changed_.notify_all();
    }
    void left(int who) noexcept override {
        const Lock lock(mutex_);
        farewells_.push_back(who);
        changed_.notify_all();
    }

    Mutex mutex_;
    Condition changed_;
    std::vector<Status> failures_ TUTTI_GUARDED_BY(mutex_);
    std::vector<int> farewells_ TUTTI_GUARDED_BY(mutex_);
    std::unique_ptr<Membership> membership_;
};

// A group of which all ranks have come.
class Members {
public:
    explicit Members(int size, const std::shared_ptr<Store>& store = make_hash_store(),
                     const std::optional<membership::Invitation>& coordinator = {}) {
        std::vector<std::future<std::unique_ptr<Member>>> coming;
        for (int rank = 0; rank < size; ++rank) {
            coming.push_back(std::async(std::launch::async, [=] {
                return std::make_unique<Member>(store, rank, size, ample(), coordinator);
            }));
        }
        for (auto& one : coming) members_.push_back(one.get());
    }
    ~Members() {  // rank 0 last, as the others' farewells go to it
        for (size_t rank = members_.size(); rank-- > 0;) members_[rank].reset();
    }
    Members(const Members&) = delete;
    Members& operator=(const Members&) = delete;

    Member& operator[](size_t rank) { return *members_[rank]; }
    void expect_failure(std::initializer_list<size_t> ranks, tutti_status code, int blamed,
                        const char* fragment) {
        for (const size_t rank : ranks) {
            const Status status = members_[rank]->failure();
            if (status.code != code || status.rank != blamed ||
                status.message.find(fragment) == std::string::npos) {
                fail_msg("rank %zu heard status %d, rank %d, \"%s\"", rank,
                         static_cast<int>(status.code), status.rank, status.message.c_str());
            }
            assert_int_equal(members_[rank]->failures(), 1);
        }
    }
    // They know that rank 1 has left, or why the group failed.
    void expect_end(std::initializer_list<size_t> ranks, bool failed) {
        for (const size_t rank : ranks) {
            if (failed) {
                (void)members_[rank]->failure();
            } else {
                (void)members_[rank]->farewells(1);
            }
        }
    }

private:
    std::vector<std::unique_ptr<Member>> members_;
};

}  // namespace tutti::test
