#include "communicators.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <thread>
#include <type_traits>
#include <utility>

namespace tutti::mpi {

namespace {

using Clock = std::chrono::steady_clock;

Process this_process() {
    Process me{};
    me.id = getpid();
    MPI_Comm_rank(MPI_COMM_WORLD, &me.world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &me.world_size);
    me.has_world = Library::get().world().is_there() ? 1 : 0;
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_Get_library_version(version, &length);
    std::string job = std::string(version).substr(0, 32);
    for (const char* name : {"PMIX_NAMESPACE", "PMI_JOBID", "SLURM_JOB_ID"}) {
        const char* const value = std::getenv(name);
        if (value != nullptr) job += std::string(" ") + value;
    }
    job.resize(std::min(job.size(), sizeof me.job - 1));
    std::memcpy(me.job, job.data(), job.size());
    return me;
}

void check(const std::vector<Process>& all, int rank) {
    const Process& me = all[static_cast<size_t>(rank)];
    for (size_t other = 0; other < all.size(); ++other) {
        const Process& it = all[other];
        const std::string both = "ranks " + std::to_string(rank) + " and " + std::to_string(other);
        const auto with = static_cast<int>(other);
        if (other == static_cast<size_t>(rank)) continue;
        if (it.world_rank == me.world_rank && it.id == me.id) {
            throw Failure{TUTTI_ERR_UNSUPPORTED,
                          both + " are one process, rank " + std::to_string(me.world_rank) +
                              " of the MPI job; each rank must be a process of its own",
                          with};
        }
        if (it.world_size == 1 || me.world_size == 1) {
            throw Failure{TUTTI_ERR_UNSUPPORTED,
                          both + " are not in one MPI job: mpirun did not start both", with};
        }
        if (std::strcmp(it.job, me.job) != 0 || it.world_size != me.world_size ||
            it.world_rank == me.world_rank) {
            throw Failure{TUTTI_ERR_UNSUPPORTED,
                          both + " are not in one MPI job: \"" + me.job + "\" of " +
                              std::to_string(me.world_size) + " and \"" + it.job + "\" of " +
                              std::to_string(it.world_size),
                          with};
        }
    }
}

template <typename Value>
std::vector<Value> all_gather(const tutti_backend_place& place, int ranks, const Value& mine) {
    static_assert(std::has_unique_object_representations_v<Value>);  // no padding goes with it
    std::vector<Value> all(static_cast<size_t>(ranks));
    tutti_error error = TUTTI_ERROR_INIT;
    const tutti_status status =
        place.host->all_gather(&place, &mine, sizeof mine, all.data(), &error);
    if (status != TUTTI_OK) throw Failure{status, error.message, error.rank};
    return all;
}

// Making communicators waits for the other ranks. Only when every rank of this group does nothing
// else they begin; so groups that open at the same time cannot wait for each other.
class Turn {
public:
    Turn(const tutti_backend_place& place, int ranks) {
        std::minstd_rand random(static_cast<unsigned>(
            place.rank + std::chrono::steady_clock::now().time_since_epoch().count()));
        for (int milliseconds = 1;; milliseconds = std::min(2 * milliseconds, 64)) {
            is_mine_ = !flag().test_and_set();
            const std::vector<char> all = all_gather(place, ranks, static_cast<char>(is_mine_));
            if (std::ranges::find(all, 0) == all.end()) return;
            release();
            const auto wait = 1 + random() % static_cast<unsigned>(milliseconds);
            std::this_thread::sleep_for(std::chrono::milliseconds(wait));
        }
    }
    ~Turn() { release(); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

private:
    static std::atomic_flag& flag() { return Library::get().is_opening; }
    void release() {
        if (std::exchange(is_mine_, false)) flag().clear();
    }
    bool is_mine_ = false;
};

// Where ranks make communicators.
struct Making {
    const tutti_backend_place& place;
    const int ranks;
    const Clock::time_point until;
};

Making making(const tutti_backend_place& place, int ranks) {
    const auto until = place.timeout_ms < 0
                           ? Clock::time_point::max()
                           : Clock::now() + std::chrono::milliseconds(place.timeout_ms);
    return {place, ranks, until};
}

enum class Stage : char { Running, Done, Failed };

std::string names(const std::vector<Stage>& all, Stage stage) {
    std::string text;
    for (size_t rank = 0; rank < all.size(); ++rank) {
        if (all[rank] == stage) text += (text.empty() ? "" : ", ") + std::to_string(rank);
    }
    return text;
}

// Until MPI has done it on all ranks. `look` waits for MPI on this one until then: true, it is
// done. A rank that failed or died is told to the others between two looks.
template <typename Look>
void await_all(const Making& at, const std::string& what, Look&& look) {
    constexpr std::chrono::milliseconds longest{1000};
    std::vector<Stage> all(static_cast<size_t>(at.ranks), Stage::Running);
    Stage mine = Stage::Running;
    Failure why;
    for (std::chrono::milliseconds pause{8};; pause = std::min(2 * pause, longest)) {
        const auto until = std::min(Clock::now() + pause, at.until);
        try {
            if (mine == Stage::Running && look(until)) mine = Stage::Done;
        } catch (const Failure& failure) {
            mine = Stage::Failed;
            why = failure;
        }
        if (mine == Stage::Running && Clock::now() >= at.until) {
            throw Failure{TUTTI_ERR_TIMEOUT,
                          what + " has not ended in time, on ranks " + names(all, Stage::Running)};
        }
        all = all_gather(at.place, at.ranks, mine);
        if (mine == Stage::Failed) throw why;
        const auto failed = std::ranges::find(all, Stage::Failed);
        if (failed != all.end()) {
            const auto rank = static_cast<int>(failed - all.begin());
            throw Failure{TUTTI_ERR_BACKEND, what + " failed on rank " + std::to_string(rank),
                          rank};
        }
        if (std::ranges::count(all, Stage::Done) == at.ranks) return;
    }
}

// Calls that wait for the other ranks, for MPI has no others.
using Calls = std::function<Communicators()>;

// They run on a thread of their own, if MPI lets another thread call, so that this one can give up.
// Whoever runs them has a share of it.
class Running {
public:
    explicit Running(Calls calls) : calls_(std::move(calls)) {}

    void run() noexcept {
        Communicators made;
        Failure why;
        try {
            made = calls_();
        } catch (const Failure& failure) {
            why = failure;
        } catch (const std::bad_alloc&) {
            why = {TUTTI_ERR_OUT_OF_MEMORY, "no memory for what MPI works on"};
        }
        const std::lock_guard lock(mutex_);
        made_ = made;
        why_ = std::move(why);
        has_ended_ = true;
        if (is_given_up_) --Library::get().given_up_calls;
        ended_.notify_all();
    }
    bool wait(Clock::time_point until) {
        std::unique_lock lock(mutex_);
        if (!ended_.wait_until(lock, until, [this] { return has_ended_; })) return false;
        if (why_.status != TUTTI_OK) throw why_;
        return true;
    }
    void give_up() {
        const std::lock_guard lock(mutex_);
        if (has_ended_ || std::exchange(is_given_up_, true)) return;
        ++Library::get().given_up_calls;
    }
    // Once they have ended.
    [[nodiscard]] const Communicators& made() const { return made_; }

private:
    const Calls calls_;
    std::mutex mutex_;
    std::condition_variable ended_;
    bool has_ended_ = false;
    bool is_given_up_ = false;
    Communicators made_;
    Failure why_;
};

// Without the library's lock if MPI lets all threads call: MPI works on other groups' calls.
Communicators make(const Making& at, const std::string& what, Calls calls) {
    Library& library = Library::get();
    std::unique_lock lock(library.mutex, std::defer_lock);
    if (!library.is_for_all_threads()) lock.lock();
    library.need();
    const auto running = std::make_shared<Running>(std::move(calls));
    if (library.is_for_one_thread()) {
        running->run();
    } else {
        try {
            std::thread([running] { running->run(); }).detach();
        } catch (const std::system_error&) {
            running->run();  // the other ranks wait for it
        }
    }
    try {
        await_all(at, what, [&](Clock::time_point until) { return running->wait(until); });
    } catch (...) {
        running->give_up();
        throw;
    }
    return running->made();
}

// Beside what MPI has made, one for messages.
Communicators with_messages(MPI_Comm collectives) {
    MPI_Comm messages = MPI_COMM_NULL;
    must(MPI_Comm_set_errhandler(collectives, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    must(MPI_Comm_dup(collectives, &messages), "MPI_Comm_dup");
    return {collectives, messages};
}

// The ranks of it that are given, in this order. The tag is the module's own.
Communicators create(MPI_Comm parent, const std::vector<int>& ranks) {
    constexpr int tag = 28'277;
    MPI_Group all = MPI_GROUP_NULL;
    MPI_Group ours = MPI_GROUP_NULL;
    MPI_Comm collectives = MPI_COMM_NULL;
    must(MPI_Comm_group(parent, &all), "MPI_Comm_group");
    must(MPI_Group_incl(all, static_cast<int>(ranks.size()), ranks.data(), &ours),
         "MPI_Group_incl");
    const int code = MPI_Comm_create_group(parent, ours, tag, &collectives);
    MPI_Group_free(&ours);
    MPI_Group_free(&all);
    must(code, "MPI_Comm_create_group");
    return with_messages(collectives);
}

void duplicate_world(const Making& at) {
    constexpr std::chrono::microseconds rest{20};
    await_all(at, "MPI_Comm_idup of MPI_COMM_WORLD", [rest](Clock::time_point until) {
        Library& library = Library::get();
        for (;; std::this_thread::sleep_for(rest)) {
            {
                const std::lock_guard lock(library.mutex);
                library.need();
                if (library.world().advance()) return true;
            }
            if (Clock::now() >= until) return false;
        }
    });
}

}  // namespace

// MPI_Comm_create_group sends messages, and on MPI_COMM_WORLD a receive of the program's with
// MPI_ANY_SOURCE and MPI_ANY_TAG would get those of Open MPI. So the first group of all processes
// duplicates that, which takes collectives only, and those of later groups are made of the
// duplicate, where no program receives.
Communicators open_communicators(const tutti_backend_place& place) {
    const Making at = making(place, place.size);
    Process me{};
    {
        const std::lock_guard lock(Library::get().mutex);
        me = this_process();
    }
    const std::vector<Process> all = all_gather(place, place.size, me);
    check(all, place.rank);
    const auto has_world = [](const Process& one) { return one.has_world != 0; };
    const Turn turn(place, place.size);
    bool is_ours = std::ranges::all_of(all, has_world);
    if (!is_ours && me.world_size == place.size) {
        duplicate_world(at);
        is_ours = true;
    }
    std::vector<int> ranks;
    for (const Process& one : all) ranks.push_back(one.world_rank);
    const MPI_Comm parent = is_ours ? Library::get().world().comm() : MPI_COMM_WORLD;
    const char* const what =
        is_ours ? "MPI_Comm_create_group"
                : "MPI_Comm_create_group of a part of MPI_COMM_WORLD (a receive of the program's "
                  "there, with MPI_ANY_SOURCE and MPI_ANY_TAG, may have got its messages: make a "
                  "group of all processes before)";
    return make(at, what, [parent, ranks] { return create(parent, ranks); });
}

Communicators split_communicators(const tutti_backend_place& place, int ranks, MPI_Comm parent,
                                  std::shared_ptr<void> owner, int color) {
    const Making at = making(place, ranks);
    const Turn turn(place, ranks);
    const auto split = [parent, owner = std::move(owner), color, key = place.rank] {
        MPI_Comm made = MPI_COMM_NULL;
        must(MPI_Comm_split(parent, color < 0 ? MPI_UNDEFINED : color, key, &made),
             "MPI_Comm_split");
        return color < 0 ? Communicators{} : with_messages(made);
    };
    return make(at, "MPI_Comm_split", split);
}

}  // namespace tutti::mpi
