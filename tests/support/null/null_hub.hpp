// Where the ranks of a null backend bring their collectives, and what brings these to an end: a
// thread of the hub's, or the ranks that poll. Never waits for a rank. Any thread.
#pragma once

#include <tutti/ext.h>

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace null {

// How a collective ends.
struct End {
    tutti_status status = TUTTI_OK;
    int32_t rank = -1;
    std::string message;
};

class Hub {
public:
    Hub(int32_t size, bool has_thread, const tutti_backend_host* host);
    // All ranks have gone.
    ~Hub();
    Hub(const Hub&) = delete;
    Hub& operator=(const Hub&) = delete;

    // Nothing, or why the rank brings nothing any more.
    End post(int32_t rank, const tutti_backend_call* call);
    // Calls of `rank` end here. True if anything has moved.
    bool test(int32_t rank);
    // Ends all of the rank's, now and later; only the first counts.
    void end(int32_t rank, const End& how);
    void leave(int32_t rank);

    // Brings a collective and waits for its end.
    End run(int32_t rank, const tutti_backend_call* call);

private:
    struct Posted {
        const tutti_backend_call* call = nullptr;  // null: has not come, or ended before the others
    };
    struct Ended {
        const tutti_backend_call* call;
        End how;
    };
    struct Member {
        End end;  // of all that it brings
        bool has_left = false;
        std::deque<Ended> ended;  // to be told
        // The state of run(): the call that it waits for, and how that ended.
        const tutti_backend_call* awaited = nullptr;
        End how;
    };
    using Round = std::vector<Posted>;  // by rank
    using Lock = std::unique_lock<std::mutex>;

    void serve();
    // The next round to which all have come, which is this thread's then; none: nothing.
    Round take_round();
    std::vector<End> move(const Round& round) const;
    void end_hopeless(int32_t rank);
    [[nodiscard]] End hopeless(int32_t rank, const Round& round) const;
    void tell(Member& member, const Ended& one);

    const int32_t size_;
    const tutti_backend_host* const host_;
    std::mutex mutex_;  // of all below
    std::condition_variable changed_;
    std::map<uint64_t, Round> rounds_;
    std::vector<Member> members_;
    bool moving_ = false;  // a thread has a round
    bool news_ = false;    // for the thread
    bool stopping_ = false;
    std::thread thread_;
};

}  // namespace null
