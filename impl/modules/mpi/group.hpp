// The backend on one rank of one group. All is done with the library's lock held, but for what is
// atomic; calls are finished without it.
#pragma once

#include <deque>
#include <functional>
#include <list>

#include "library.hpp"

namespace tutti::mpi {

struct Settings {
    bool is_direct = false;                // MPI works on the program's memory
    bool is_blocking = false;              // MPI's blocking collectives, on the thread that calls
    bool is_reproducible = false;          // all inputs of a reduction at once
    int64_t max_bytes = max_bytes_of_all;  // of one MPI call
};

// A call that has ended, to be finished.
struct Ended {
    const tutti_backend_call* call;
    Failure failure;
    int source = -1;
};

// A call of the host. A coalesced one has several operations, others one.
struct Entry {
    const tutti_backend_call* call;
    int open_operations = 0;
    bool has_ended = false;  // it failed; operations may be under way
};

struct Operation {
    std::shared_ptr<Entry> entry;
    const tutti_backend_call* call;
    bool is_direct = false;  // MPI works on the program's memory
    InFlight flight{};
    bool has_begun = false;
    bool blocks = false;  // a step follows, so operations behind it must not begin yet
    std::function<void()> then{};
};

struct Message {
    const tutti_backend_call* call;
    InFlight flight{};
    bool is_direct = false;
    int source = -1;
};

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
    void left(int rank) noexcept;
    void leave();
    int32_t cancel(const tutti_backend_call* call);
    // On all ranks, for those of one color; null: of none.
    std::unique_ptr<Group> split(const tutti_backend_place& place, int color);

private:
    // group.cpp
    void need_alive() const;
    void run(const tutti_backend_call* call);
    void run_operation(const tutti_backend_call* call);
    void begin_ready();
    [[nodiscard]] bool advance(Operation& first);
    void progress();
    void progress_operations();
    [[nodiscard]] Failure left_before(uint64_t sequence) const;
    void end_without_those_that_left();
    void end_all(bool may_call);
    void fail(Entry& entry, const Failure& failure);
    void abandon(InFlight&& flight);
    void end(const tutti_backend_call* call, Failure failure = {}, int source = -1);
    // Calls MPI: `blocking` if calls are to block, else `begun`, which has a request as well.
    template <typename Blocking, typename Begun, typename... Arguments>
    void call_mpi(InFlight& flight, const char* name, Blocking blocking, Begun begun,
                  Arguments... arguments) const {
        if (settings_.is_blocking) return must(blocking(arguments...), name);
        must(begun(arguments..., flight.request()), name);
    }
    // operations.cpp
    void begin(Operation& operation);
    void broadcast(Operation& operation);
    void all_gather(Operation& operation);
    void gather(Operation& operation);
    void scatter(Operation& operation);
    void all_to_all(Operation& operation);
    const char* inputs(Operation& operation);
    char* outputs(Operation& operation);
    // reductions.cpp
    void reduce(Operation& operation);
    void reduce_natively(Operation& operation, MPI_Datatype type, MPI_Op op);
    void reduce_scatter_natively(Operation& operation, MPI_Datatype type, MPI_Op op);
    char* begun_inputs(Operation& operation);
    void reduce_at_once(Operation& operation);
    void share_result(Operation& operation, const char* result, const std::vector<int64_t>& parts);
    // moves.cpp: bytes between ranks, of pieces that follow each other
    struct Span {
        char* data;
        int64_t bytes;
    };
    void move_to_all(Operation& operation, const char* from, char* to,
                     const std::vector<int64_t>& bytes);
    void move_to_root(Operation& operation, const char* from, char* to,
                      const std::vector<int64_t>& bytes, int root);
    void move_from_root(Operation& operation, const char* from, char* to,
                        const std::vector<int64_t>& bytes, int root);
    // `max_of_any_rank`: bytes, the same on all ranks; -1: only pairs of ranks know their sizes.
    void move_between_all(Operation& operation, const char* from, const std::vector<int64_t>& sends,
                          char* to, const std::vector<int64_t>& receives, int64_t max_of_any_rank);
    void exchange(Operation& operation, const std::vector<Span>& sends,
                  const std::vector<Span>& receives);
    [[nodiscard]] static std::vector<Span> spans(const char* data,
                                                 const std::vector<int64_t>& bytes);
    [[nodiscard]] bool is_large(const std::vector<int64_t>& bytes) const;
    struct Pieces {
        const int *counts, *places;
        const MPI_Datatype* types;
    };
    Pieces typed_pieces(InFlight& flight, const std::vector<int64_t>& bytes) const;
    // messages.cpp
    void send(const tutti_backend_call* call);
    void receive(const tutti_backend_call* call);
    void progress_messages();
    bool probe();
    void match(Message& message, const Arrived& arrived);
    void take_goodbye(const Arrived& arrived);
    [[nodiscard]] bool nobody_sends(const tutti_backend_call* call) const;

    const tutti_backend_host& host_;
    const Settings settings_;
    const int rank_, size_;
    MPI_Comm collectives_, messages_;
    std::deque<Operation> operations_;  // in the order of the ranks' posts
    size_t begun_ = 0;                  // of them, the first ones
    std::list<Message> waiting_;        // receives
    std::list<Message> moving_;         // sends, and receives that are matched
    std::vector<Arrived> arrived_;
    std::vector<Ended> ended_;
    uint64_t last_sequence_ = 0;    // of what was posted
    std::vector<int64_t> last_of_;  // of ranks that said goodbye; else -1
    std::vector<std::atomic<bool>> has_left_;
    int goodbyes_ = 0;
    bool has_said_goodbye_ = false;
    std::shared_ptr<int> uses_ = std::make_shared<int>(0);  // what is abandoned has it, too
    std::atomic<int> leavers_{0};

    std::atomic<bool> is_aborted_{false};
    mutable std::mutex why_mutex_;
    Failure aborted_;  // with why_mutex_
};

[[nodiscard]] Settings read_settings(const char* text);
[[nodiscard]] std::unique_ptr<Group> open_group(const tutti_backend_place& place);

}  // namespace tutti::mpi
