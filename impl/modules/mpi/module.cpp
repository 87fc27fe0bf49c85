// libtutti-mpi-openmpi.so, libtutti-mpi-mpich.so: the backend "mpi" over one MPI. Opening a group,
// and the table.
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>

#include "group.hpp"

namespace tutti::mpi {

namespace {

// Ranks know this of each other before they make communicators.
struct Process {
    int32_t world_rank, world_size, id;
    char job[96];  // MPI, its version, the launcher's name of the job
};

template <typename Body>
tutti_status guard(tutti_error* error, Body&& body) noexcept {
    try {
        body();
        return TUTTI_OK;
    } catch (const Failure& failure) {
        return tell(failure, error);
    } catch (const std::bad_alloc&) {
        return TUTTI_ERR_OUT_OF_MEMORY;
    }
}

[[noreturn]] void refuse_setting(std::string_view text) {
    throw Failure{TUTTI_ERR_INVALID_ARGUMENT,
                  "mpi has no setting \"" + std::string(text) +
                      "\", only calls=blocking, memory=direct, reproducible=1 and "
                      "most=BYTES, from 4096 to " +
                      std::to_string(Settings{}.max_bytes)};
}

Settings read_settings(std::string_view text) {
    Settings settings;
    while (!text.empty()) {
        const std::string_view one = text.substr(0, text.find('&'));
        text.remove_prefix(std::min(one.size() + 1, text.size()));
        constexpr std::string_view most = "most=";
        if (one == "memory=direct") {
            settings.is_direct = true;
        } else if (one == "calls=blocking") {
            settings.is_blocking = true;
        } else if (one == "reproducible=1") {
            settings.is_reproducible = true;
        } else if (one.starts_with(most)) {
            const char* const end = one.data() + one.size();
            const auto [rest, fault] =
                std::from_chars(one.data() + most.size(), end, settings.max_bytes);
            const bool is_right = fault == std::errc() && rest == end;
            if (!is_right || settings.max_bytes < 4096 ||
                settings.max_bytes > Settings{}.max_bytes) {
                refuse_setting(one);
            }
        } else {
            refuse_setting(one);
        }
    }
    return settings;
}

Process this_process() {
    Process me{};
    me.id = getpid();
    MPI_Comm_rank(MPI_COMM_WORLD, &me.world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &me.world_size);
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

// The communicators of the group's ranks, in their order. The tag is this module's.
std::pair<MPI_Comm, MPI_Comm> make_communicators(const std::vector<Process>& all) {
    constexpr int tag = 28'277;
    std::vector<int> ranks;
    for (const Process& one : all) ranks.push_back(one.world_rank);
    MPI_Group world = MPI_GROUP_NULL;
    MPI_Group ours = MPI_GROUP_NULL;
    MPI_Comm collectives = MPI_COMM_NULL;
    MPI_Comm messages = MPI_COMM_NULL;
    must(MPI_Comm_group(MPI_COMM_WORLD, &world), "MPI_Comm_group");
    must(MPI_Group_incl(world, static_cast<int>(ranks.size()), ranks.data(), &ours),
         "MPI_Group_incl");
    must(MPI_Comm_create_group(MPI_COMM_WORLD, ours, tag, &collectives), "MPI_Comm_create_group");
    MPI_Group_free(&ours);
    MPI_Group_free(&world);
    must(MPI_Comm_set_errhandler(collectives, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    must(MPI_Comm_dup(collectives, &messages), "MPI_Comm_dup");
    return {collectives, messages};
}

std::unique_ptr<Group> open_group(const tutti_backend_place& place) {
    const Settings settings = read_settings(place.settings);
    Library& library = Library::get();
    Process me{};
    {
        const std::lock_guard lock(library.mutex);
        library.begin();
        library.need();
        if (settings.is_blocking && !library.is_for_all_threads()) {
            throw Failure{TUTTI_ERR_UNSUPPORTED,
                          "calls=blocking needs MPI_THREAD_MULTIPLE, and MPI was initialised with "
                          "less"};
        }
        library.sweep();
        me = this_process();
    }
    const std::vector<Process> all = all_gather(place, place.size, me);
    check(all, place.rank);
    const Turn turn(place, place.size);
    const std::lock_guard lock(library.mutex);
    const auto [collectives, messages] = make_communicators(all);
    return std::make_unique<Group>(place, settings, collectives, messages);
}

}  // namespace

// Collectives of the group may be under way on its other communicator.
std::unique_ptr<Group> Group::split(const tutti_backend_place& place, int color) {
    try {
        const std::lock_guard lock(Library::get().mutex);
        need_alive();
    } catch (Failure& failure) {
        // UNSUPPORTED would mean that the new group is to open its backend.
        if (failure.status == TUTTI_ERR_UNSUPPORTED) failure.status = TUTTI_ERR_BACKEND;
        throw;
    }
    const Turn turn(place, size_);
    const std::lock_guard lock(Library::get().mutex);
    Library::get().sweep();
    MPI_Comm collectives = MPI_COMM_NULL;
    MPI_Comm messages = MPI_COMM_NULL;
    must(MPI_Comm_split(messages_, color < 0 ? MPI_UNDEFINED : color, place.rank, &collectives),
         "MPI_Comm_split");
    if (color < 0) return nullptr;
    must(MPI_Comm_dup(collectives, &messages), "MPI_Comm_dup");
    return std::make_unique<Group>(place, settings_, collectives, messages);
}

namespace {

Group& group_of(void* backend) {
    return *static_cast<Group*>(backend);
}

tutti_status describe(void*, const char* text, tutti_backend_capabilities* out,
                      tutti_error* error) {
    return guard(error, [&] {
        const Settings settings = read_settings(text);
        out->completion = settings.is_blocking ? TUTTI_COMPLETION_INLINE : TUTTI_COMPLETION_POLLED;
        out->devices = TUTTI_BIT(TUTTI_CPU);
        out->kinds = TUTTI_ALL_BITS;
        out->dtypes = TUTTI_ALL_BITS;
        out->flags = TUTTI_BACKEND_USER_FUNCTIONS;
        if (settings.is_reproducible) out->flags |= TUTTI_BACKEND_REPRODUCIBLE;
        for (uint64_t& ops : out->ops) ops = TUTTI_ALL_BITS;
    });
}

tutti_status open(void*, const tutti_backend_place* place, void** out, tutti_error* error) {
    return guard(error, [&] { *out = open_group(*place).release(); });
}

void close(void* backend) {
    delete &group_of(backend);
}

tutti_status post(void* backend, tutti_backend_call* call, tutti_error* error) {
    return guard(error, [&] { group_of(backend).post(call); });
}

int32_t test(void* backend) {
    return group_of(backend).test() ? 1 : 0;
}

void abort(void* backend, tutti_status status, const char* why) {
    group_of(backend).abort(status, why);
}

void left(void* backend, int32_t rank) {
    group_of(backend).left(rank);
}

void leave(void* backend) {
    guard(nullptr, [&] { group_of(backend).leave(); });
}

int32_t cancel(void* backend, const tutti_backend_call* call) {
    return group_of(backend).cancel(call);
}

tutti_status split(void* backend, const tutti_backend_place* place, int32_t color, void** out,
                   tutti_error* error) {
    return guard(error, [&] {
        if (auto made = group_of(backend).split(*place, color)) *out = made.release();
    });
}

constexpr tutti_backend_table table{
    .struct_size = sizeof(tutti_backend_table),
    .version = TUTTI_EXT_VERSION,
    .name = "mpi",
    .user = nullptr,
    .describe = describe,
    .open = open,
    .close = close,
    .post = post,
    .test = test,
    .abort = abort,
    .left = left,
    .leave = leave,
    .cancel = cancel,
    .together = nullptr,
    .check = nullptr,
    .split = split,
    .alloc_memory = nullptr,
    .share_memory = nullptr,
    .free_memory = nullptr,
};
constexpr tutti_module module{sizeof(tutti_module), TUTTI_EXT_VERSION, &table, nullptr, nullptr};

}  // namespace

}  // namespace tutti::mpi

extern "C" TUTTI_API const tutti_module* tutti_module_get(uint32_t host_version);
const tutti_module* tutti_module_get(uint32_t) {
    return &tutti::mpi::module;
}
