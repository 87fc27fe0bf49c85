// The members of one group in one process, each with what it heard; the coordinator is rank 0's.
#pragma once

#include <future>
#include <memory>
#include <vector>

#include "base/error.hpp"
#include "base/mutex.hpp"
#include "control/liveness.hpp"
#include "support/unit.hpp"

namespace tutti::test {

using control::Seat;

inline Deadline ample() {
    return Deadline::after_ms(60'000);
}

inline Seat seat_of(int rank) {
    Seat seat;
    seat.port = 1000 + rank;
    seat.token.fill(static_cast<char>('a' + rank));
    return seat;
}

// One rank, and what it heard.
class Member {
public:
    Member(const std::shared_ptr<Store>& store, int rank, int size)
        : rank_(rank),
          liveness_(Liveness::join(store, rank, size, ample(),
                                   {[this](const Status& status) { heard_failure(status); },
                                    [this](int who) { heard_farewell(who); }})) {}

    Liveness& operator*() { return *liveness_; }
    Liveness* operator->() { return liveness_.get(); }
    void destroy() { liveness_.reset(); }

    std::vector<Seat> gather(const Deadline& deadline = ample()) {
        return liveness_->gather(seat_of(rank_), deadline);
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
    void heard_failure(const Status& status) {
        const Lock lock(mutex_);
        failures_.push_back(status);
        changed_.notify_all();
    }
    void heard_farewell(int who) {
        const Lock lock(mutex_);
        farewells_.push_back(who);
        changed_.notify_all();
    }

    const int rank_;
    Mutex mutex_;
    Condition changed_;
    std::vector<Status> failures_ TUTTI_GUARDED_BY(mutex_);
    std::vector<int> farewells_ TUTTI_GUARDED_BY(mutex_);
    std::unique_ptr<Liveness> liveness_;
};

// A group of which all ranks have come.
class Meeting {
public:
    explicit Meeting(int size, const std::shared_ptr<Store>& store = make_hash_store()) {
        std::vector<std::future<std::vector<Seat>>> rosters;
        for (int rank = 0; rank < size; ++rank) {
            members_.push_back(std::make_unique<Member>(store, rank, size));
        }
        for (const auto& member : members_) {
            rosters.push_back(
                std::async(std::launch::async, [one = member.get()] { return one->gather(); }));
        }
        for (auto& roster : rosters) rosters_.push_back(roster.get());
    }
    ~Meeting() {  // rank 0 last, as the others' farewells go to it
        for (size_t rank = members_.size(); rank-- > 0;) members_[rank].reset();
    }
    Meeting(const Meeting&) = delete;
    Meeting& operator=(const Meeting&) = delete;

    Member& operator[](size_t rank) { return *members_[rank]; }
    [[nodiscard]] const std::vector<std::vector<Seat>>& rosters() const { return rosters_; }
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
    std::vector<std::vector<Seat>> rosters_;
};

}  // namespace tutti::test
