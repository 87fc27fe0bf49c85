// Where the ranks of a null backend bring their collectives, and what brings these to an end: a
// thread of the hub's, or the ranks that poll. Never waits for a rank. Any thread.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "backend/backend.hpp"
#include "base/mutex.hpp"

namespace tutti::test {

class NullHub {
public:
    NullHub(std::string name, int size, Completion completion);
    // All ranks have gone.
    ~NullHub();
    NullHub(const NullHub&) = delete;
    NullHub& operator=(const NullHub&) = delete;

    [[nodiscard]] const std::string& name() const { return name_; }
    void post(int rank, Request request, std::shared_ptr<Work> work);
    // What ends here are works of `rank`. True if anything has moved.
    bool test(int rank) noexcept;
    // Ends all of the rank's, now and later; only the first counts.
    void end(int rank, const Status& status) noexcept;
    void leave(int rank) noexcept;

private:
    struct Posted {
        Request request;
        std::shared_ptr<Work> work;  // null: has not come, or has ended before the others came
    };
    struct Ended {
        std::shared_ptr<Work> work;
        Status status;
    };
    struct Member {
        Status end;  // of all that it brings
        bool has_left = false;
        std::deque<Ended> ended;  // to be told
    };
    using Round = std::vector<Posted>;  // by rank

    void run() noexcept;
    // The next round to which all have come, which is this thread's then; none: nothing.
    Round take_round() TUTTI_REQUIRES(mutex_);
    static std::vector<Status> move(const Round& round);
    void end_hopeless(int rank) TUTTI_REQUIRES(mutex_);
    [[nodiscard]] Status hopeless(int rank, const Round& round) const TUTTI_REQUIRES(mutex_);

    const std::string name_;
    const int size_;
    Mutex mutex_;
    Condition changed_;
    std::map<uint64_t, Round> rounds_ TUTTI_GUARDED_BY(mutex_);
    std::vector<Member> members_ TUTTI_GUARDED_BY(mutex_);
    bool moving_ TUTTI_GUARDED_BY(mutex_) = false;  // a thread has a round
    bool news_ TUTTI_GUARDED_BY(mutex_) = false;    // for the thread
    bool stopping_ TUTTI_GUARDED_BY(mutex_) = false;
    std::thread thread_;
};

}  // namespace tutti::test
