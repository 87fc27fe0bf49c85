// Messages with tags through memory that all ranks of a group see; what they mean is as in
// message/point_to_point.hpp. Who waits for one of its own moves all of this rank's meanwhile, on
// its own thread; for those that nobody waits for there is a thread, started with the first such.
// Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "backend/call/message.hpp"
#include "backend/channel.hpp"
#include "base/deadline.hpp"
#include "base/mutex.hpp"
#include "mailbox.hpp"
#include "operation.hpp"
#include "traffic.hpp"
#include "work/work.hpp"

namespace tutti::shm {

class Messages {
public:
    // The mail of every rank, by rank, which way long data go, and how often to look before others
    // may run; the channel tells what became of the others. All of that lives longer.
    Messages(const std::vector<MailPlace>& mails, Way way, int spins, const Channel& channel);
    ~Messages();
    Messages(const Messages&) = delete;
    Messages& operator=(const Messages&) = delete;

    // Here and now; throw how it ended. Returns the source.
    void send(const Send& call, const Deadline& deadline);
    int receive(const Receive& call, const Deadline& deadline);
    // In the background.
    void start(const Send& call, const Deadline& deadline, std::shared_ptr<Work> work);
    void start(const Receive& call, const Deadline& deadline, std::shared_ptr<Work> work);

    // What the ranks of the group have shared by now: data in it are read there.
    void see(const Shared& shared);

    // Ends all that waits, now and later; only the first status counts.
    void abort(const Status& status) noexcept;

private:
    template <typename Kind>
    void run(Kind& operation);
    template <typename Kind>
    void begin(std::unique_ptr<Kind> operation);
    template <typename Kind>
    void await(Kind& operation);
    enum class Step { Nothing, Moved, Done };
    Step step(Operation& operation);
    void doze(Operation& operation);
    void look_around();
    void move() noexcept;

    // Under the lock.
    void enter_wait() TUTTI_REQUIRES(mutex_);
    void leave_wait() TUTTI_REQUIRES(mutex_);
    void employ_mover() TUTTI_REQUIRES(mutex_);
    void count_mover() TUTTI_REQUIRES(mutex_);
    void uncount_mover() TUTTI_REQUIRES(mutex_);

    const Channel& channel_;
    const int spins_;
    Bell& bell_;  // this rank's

    Mutex mutex_;
    Condition employed_;
    Traffic traffic_ TUTTI_GUARDED_BY(mutex_);
    Deadline::Clock::time_point next_look_ TUTTI_GUARDED_BY(mutex_);
    uint64_t calls_ TUTTI_GUARDED_BY(mutex_) = 0;  // here and now
    int waiters_ TUTTI_GUARDED_BY(mutex_) = 0;     // threads that move what there is
    bool stopping_ TUTTI_GUARDED_BY(mutex_) = false;
    bool is_idle_ TUTTI_GUARDED_BY(mutex_) = false;     // the mover waits to be employed,
    bool is_dozing_ TUTTI_GUARDED_BY(mutex_) = false;   // or for the bell,
    bool is_counted_ TUTTI_GUARDED_BY(mutex_) = false;  // as one of its sleepers
    std::thread mover_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti::shm
