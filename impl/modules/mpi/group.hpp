// The backend on one rank of one group: the order of its calls, their progress, its end. All is
// done with the library's lock held, but for what is atomic; calls are finished without it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "departures.hpp"
#include "endings.hpp"
#include "library.hpp"
#include "messages.hpp"
#include "operation_queue.hpp"
#include "ranks.hpp"

namespace tutti::mpi {

class Group {
public:
    Group(const tutti_backend_place& place, const Settings& settings, MPI_Comm collectives,
          MPI_Comm messages);
    ~Group();
    Group(const Group&) = delete;
    Group& operator=(const Group&) = delete;

    void post(const tutti_backend_call* call);
    bool test();
    void abort(tutti_status status, const char* why) noexcept;
    void left(int rank) noexcept { departures_.left(rank); }
    void leave();
    int32_t cancel(const tutti_backend_call* call);
    // On all ranks, for those of one color; null: of none.
    std::unique_ptr<Group> split(const tutti_backend_place& place, int color);

private:
    void need_alive() const;
    void run(const tutti_backend_call* call);
    void run_operation(const tutti_backend_call* call);
    void progress();
    void end_all(bool may_call);

    const Ranks ranks_;
    Departures departures_;
    Endings endings_;
    OperationQueue collectives_;
    Messages messages_;
    uint64_t last_sequence_ = 0;  // of the collectives that were posted

    std::atomic<bool> is_aborted_{false};
    mutable std::mutex why_mutex_;
    Failure aborted_;  // with why_mutex_
};

}  // namespace tutti::mpi
