// MPI as this process has it: who initialised it, which threads may call it, and what MPI still
// works on after the calls have ended. One thread at a time calls MPI, with the lock held.
#pragma once

#include <mpi.h>
#include <tutti/ext.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace tutti::mpi {

struct Failure {
    tutti_status status = TUTTI_OK;
    std::string why;
    int rank = -1;
};

// Writes it where a function of the table tells failures.
tutti_status tell(const Failure& failure, tutti_error* error) noexcept;
[[nodiscard]] Failure failure_of(int code, const char* call);
// Throws a Failure if an MPI function has failed.
void must(int code, const char* call);

// Memory of the module's own. It is used again, so that large calls do not meet fresh pages.
struct GiveBack {
    size_t room = 0;
    void operator()(char* memory) const noexcept;
};
using Buffer = std::unique_ptr<char[], GiveBack>;
[[nodiscard]] Buffer take(size_t bytes);

// The limit of one MPI call.
constexpr int64_t max_bytes_of_all = int64_t{1} << 30;

struct Typed {
    int count;
    MPI_Datatype type;
};

// The memory that MPI works on until the requests are complete.
struct InFlight {
    std::vector<MPI_Request> requests;
    std::vector<Buffer> memory;
    std::vector<std::vector<int>> numbers;
    std::vector<std::vector<MPI_Datatype>> type_lists;
    std::vector<MPI_Datatype> types;  // those that are to be freed
    std::shared_ptr<void> owner;      // whose communicator it uses, once that has given it up
    MPI_Request* request() { return &requests.emplace_back(MPI_REQUEST_NULL); }
    // Whether all requests are complete; throws if one failed.
    bool test();
    // Until they are.
    void wait();
    void free_types() noexcept;
    // So many bytes as a count of one type, which MPI's int can tell. They begin so far behind the
    // address that MPI gets.
    Typed typed(int64_t bytes, int64_t max_bytes, int64_t begin = 0);
};

// Receives a message into memory of the module's.
[[nodiscard]] InFlight receive_anywhere(MPI_Message message, int64_t bytes, int64_t max_bytes);

// The last message of a rank in a group has this tag modulo tags_of_a_message.
constexpr int tags_of_a_message = 16;
constexpr int goodbye = tags_of_a_message - 1;

// A message that has come before its receive.
struct Arrived {
    MPI_Message message;
    int source, tag;
    tutti_dtype dtype;
    MPI_Count bytes;
};

// The communicators of a group that is closed. They are freed when all ranks have said goodbye, and
// MPI is done with what has been abandoned.
struct Closed {
    MPI_Comm collectives, messages;
    int goodbyes_to_come;
    std::vector<Arrived> arrived;  // for nobody
    std::shared_ptr<void> owner;
    // Their messages are thrown away; true if they can be freed.
    bool test(std::vector<InFlight>& thrown_away);
};

// The module's own duplicate of MPI_COMM_WORLD, for other communicators to be made of. With the
// library's lock.
class World {
public:
    [[nodiscard]] bool is_there() const { return is_there_; }
    [[nodiscard]] MPI_Comm comm() const { return comm_; }
    // Begins it, unless it has begun, which all processes must do; true once it is there. What one
    // rank gave up waiting for goes on when it is asked for again.
    bool advance();

private:
    MPI_Comm comm_ = MPI_COMM_NULL;  // MPI writes it
    MPI_Request request_ = MPI_REQUEST_NULL;
    bool has_begun_ = false;
    bool is_there_ = false;
};

class Library {
public:
    static Library& get();

    std::mutex mutex;

    // With the lock. Initialises MPI, unless the program has.
    void begin();
    // Whether several threads may call it at the same time.
    [[nodiscard]] bool is_for_all_threads() const { return is_for_all_threads_; }
    // Whether the one that initialised it must make all calls.
    [[nodiscard]] bool is_for_one_thread() const { return is_for_one_thread_; }
    [[nodiscard]] World& world() { return world_; }
    // Whether MPI lives, and this thread may call it.
    [[nodiscard]] bool may_call() const;
    // Throws what is in the way, if it may not.
    void need() const;
    // With the lock: memory of calls that have ended before MPI was done with it.
    void abandon(InFlight&& what);
    void close(Closed&& group);
    // Ends what has come to its end since. Only inside calls of the program's: else it may call MPI
    // itself.
    void sweep();

    // A process of MPI's job has died: MPI_Finalize would wait for it.
    std::atomic<bool> has_lost_a_process{false};
    // One group at a time makes its communicators, on all of its ranks.
    std::atomic_flag is_opening = ATOMIC_FLAG_INIT;
    // Threads that MPI has not let go in time. Unless it is for all threads, no other may call.
    std::atomic<int> given_up_calls{0};

private:
    static int forget(MPI_Comm, int, void*, void*);
    static void finalize();
    void sweep_for_the_last_time();

    std::atomic<bool> has_begun_{false};
    std::atomic<bool> is_over_{false};
    bool is_for_one_thread_ = false;
    bool is_for_all_threads_ = false;
    int process_ = 0;  // that initialised it
    World world_;
    std::vector<InFlight> abandoned_;
    std::vector<Closed> closed_;
};

}  // namespace tutti::mpi
