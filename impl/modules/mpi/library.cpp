#include "library.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>

namespace tutti::mpi {

namespace {

constexpr size_t max_kept = size_t{256} << 20;

struct Pool {
    std::mutex mutex;
    std::vector<Buffer> free;
    size_t bytes = 0;
};

// Never destroyed: what MPI works on at the end of the process is given back after that.
Pool& pool() {
    static Pool& only = *new Pool;
    return only;
}

// Open MPI's components are libraries that find its symbols among the global ones.
void make_global() {
    Dl_info info{};
    if (dladdr(reinterpret_cast<const void*>(&MPI_Init_thread), &info) == 0) return;
    dlopen(info.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
}

}  // namespace

tutti_status tell(const Failure& failure, tutti_error* error) noexcept {
    if (error != nullptr) {
        error->rank = failure.rank;
        const size_t length = std::min(failure.why.size(), sizeof error->message - 1);
        std::memcpy(error->message, failure.why.data(), length);
        error->message[length] = '\0';
    }
    return failure.status;
}

Failure failure_of(int code, const char* call) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    int kind = 0;
    MPI_Error_string(code, text, &length);
    MPI_Error_class(code, &kind);
    const bool is_size = kind == MPI_ERR_TRUNCATE;
    return {is_size ? TUTTI_ERR_MISMATCH : TUTTI_ERR_BACKEND, std::string(call) + ": " + text};
}

void must(int code, const char* call) {
    if (code != MPI_SUCCESS) throw failure_of(code, call);
}

void GiveBack::operator()(char* memory) const noexcept {
    const std::lock_guard lock(pool().mutex);
    Pool& all = pool();
    if (all.bytes + room <= max_kept) {
        all.free.emplace_back(memory, GiveBack{room});
        all.bytes += room;
    } else {
        delete[] memory;
    }
}

Buffer take(size_t bytes) {
    {
        const std::lock_guard lock(pool().mutex);
        Pool& all = pool();
        const auto fits = [&](const Buffer& one) {
            const size_t room = one.get_deleter().room;
            return room >= bytes && room / 4 <= bytes + 4096;
        };
        const auto found = std::ranges::find_if(all.free, fits);
        if (found != all.free.end()) {
            Buffer taken = std::move(*found);
            all.bytes -= taken.get_deleter().room;
            *found = std::move(all.free.back());
            all.free.pop_back();
            return taken;
        }
    }
    const size_t room = std::max<size_t>(bytes, 64);
    return {new char[room], GiveBack{room}};
}

namespace {

void must_all(int code, const std::vector<MPI_Status>& statuses, const char* call) {
    if (code == MPI_ERR_IN_STATUS) {
        for (const MPI_Status& status : statuses) {
            if (status.MPI_ERROR != MPI_ERR_PENDING) must(status.MPI_ERROR, call);
        }
    }
    must(code, call);
}

}  // namespace

bool InFlight::test() {
    if (requests.empty()) return true;
    int is_done = 0;
    if (requests.size() == 1) {
        must(MPI_Test(requests.data(), &is_done, MPI_STATUS_IGNORE), "MPI_Test");
        return is_done != 0;
    }
    std::vector<MPI_Status> statuses(requests.size());
    const auto count = static_cast<int>(requests.size());
    must_all(MPI_Testall(count, requests.data(), &is_done, statuses.data()), statuses,
             "MPI_Testall");
    return is_done != 0;
}

void InFlight::wait() {
    if (requests.empty()) return;
    std::vector<MPI_Status> statuses(requests.size());
    const auto count = static_cast<int>(requests.size());
    must_all(MPI_Waitall(count, requests.data(), statuses.data()), statuses, "MPI_Waitall");
    requests.clear();
}

void InFlight::free_types() noexcept {
    for (MPI_Datatype& type : types) MPI_Type_free(&type);
    types.clear();
}

Typed InFlight::typed(int64_t bytes, int64_t max_bytes, int64_t begin) {
    if (bytes <= max_bytes && begin == 0) return {static_cast<int>(bytes), MPI_BYTE};
    MPI_Datatype block = MPI_DATATYPE_NULL;
    MPI_Datatype all = MPI_DATATYPE_NULL;
    must(MPI_Type_contiguous(static_cast<int>(max_bytes), MPI_BYTE, &block), "MPI_Type_contiguous");
    const int counts[2] = {static_cast<int>(bytes / max_bytes),
                           static_cast<int>(bytes % max_bytes)};
    const MPI_Aint places[2] = {begin, begin + bytes / max_bytes * max_bytes};
    const MPI_Datatype kinds[2] = {block, MPI_BYTE};
    const int code = MPI_Type_create_struct(2, counts, places, kinds, &all);
    MPI_Type_free(&block);
    must(code, "MPI_Type_create_struct");
    types.push_back(all);
    must(MPI_Type_commit(&all), "MPI_Type_commit");
    return {1, all};
}

InFlight receive_anywhere(MPI_Message message, int64_t bytes, int64_t max_bytes) {
    InFlight flight;
    flight.memory.push_back(take(static_cast<size_t>(bytes)));
    const Typed all = flight.typed(bytes, max_bytes);
    must(MPI_Imrecv(flight.memory[0].get(), all.count, all.type, &message, flight.request()),
         "MPI_Imrecv");
    return flight;
}

bool Closed::test(std::vector<InFlight>& thrown_away) {
    for (const Arrived& one : arrived) {
        thrown_away.push_back(receive_anywhere(one.message, one.bytes, max_bytes_of_all));
    }
    arrived.clear();
    for (int has_come = 1; goodbyes_to_come > 0 && has_come != 0;) {
        MPI_Message message = MPI_MESSAGE_NULL;
        MPI_Status status;
        MPI_Count bytes = 0;
        must(MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, messages, &has_come, &message, &status),
             "MPI_Improbe");
        if (has_come == 0) break;
        must(MPI_Get_elements_x(&status, MPI_BYTE, &bytes), "MPI_Get_elements_x");
        thrown_away.push_back(receive_anywhere(message, bytes, max_bytes_of_all));
        if (status.MPI_TAG % tags_of_a_message == goodbye) --goodbyes_to_come;
    }
    return goodbyes_to_come == 0 && owner.use_count() == 1;
}

bool World::advance() {
    if (is_there_) return true;
    if (!has_begun_) {
        must(MPI_Comm_idup(MPI_COMM_WORLD, &comm_, &request_), "MPI_Comm_idup");
        has_begun_ = true;
    }
    int is_done = 0;
    must(MPI_Test(&request_, &is_done, MPI_STATUS_IGNORE), "MPI_Comm_idup");
    if (is_done == 0) return false;
    must(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    is_there_ = true;
    return true;
}

Library& Library::get() {
    static Library& only = *new Library;
    return only;
}

// MPI_Finalize calls it first of all.
int Library::forget(MPI_Comm, int, void*, void*) {
    Library& self = get();
    const std::lock_guard lock(self.mutex);
    self.sweep_for_the_last_time();
    self.is_over_ = true;
    return MPI_SUCCESS;
}

void Library::finalize() {
    Library& self = get();
    // A child of fork has no part in it.
    if (self.is_over_ || self.has_lost_a_process || self.process_ != getpid()) return;
    if (self.given_up_calls > 0) return;  // it would wait for them
    MPI_Finalize();
}

// Requests to living ranks end soon; the others never do.
void Library::sweep_for_the_last_time() {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    do {
        sweep();
    } while (!(closed_.empty() && abandoned_.empty()) && std::chrono::steady_clock::now() < until);
}

void Library::begin() {
    int has = 0;
    MPI_Finalized(&has);
    if (has != 0) throw Failure{TUTTI_ERR_UNSUPPORTED, "MPI_Finalize has been called"};
    if (has_begun_) return;
    int level = MPI_THREAD_SINGLE;
    MPI_Initialized(&has);
    if (has == 0) {
        make_global();
        must(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level), "MPI_Init_thread");
        process_ = getpid();
        std::atexit(finalize);
    } else {
        MPI_Query_thread(&level);
    }
    is_for_one_thread_ = level < MPI_THREAD_SERIALIZED;
    is_for_all_threads_ = level >= MPI_THREAD_MULTIPLE;
    int key = MPI_KEYVAL_INVALID;
    must(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &key, nullptr),
         "MPI_Comm_create_keyval");
    must(MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr), "MPI_Comm_set_attr");
    has_begun_ = true;
}

bool Library::may_call() const {
    if (!has_begun_ || is_over_) return false;
    if (given_up_calls > 0 && !is_for_all_threads_) return false;
    if (!is_for_one_thread_) return true;
    int is_main = 0;
    MPI_Is_thread_main(&is_main);
    return is_main != 0;
}

void Library::need() const {
    if (may_call()) return;
    if (is_over_) throw Failure{TUTTI_ERR_UNSUPPORTED, "MPI_Finalize has been called"};
    if (given_up_calls > 0) {
        throw Failure{TUTTI_ERR_BACKEND,
                      "MPI is still making the communicator of a group that did not open in time, "
                      "and without MPI_THREAD_MULTIPLE it takes no other calls"};
    }
    throw Failure{TUTTI_ERR_UNSUPPORTED,
                  "the program has initialised MPI for one thread: that one alone can call; "
                  "MPI_Init_thread with MPI_THREAD_SERIALIZED lets all"};
}

void Library::abandon(InFlight&& what) {
    if (!what.requests.empty()) abandoned_.push_back(std::move(what));
}

void Library::close(Closed&& group) {
    closed_.push_back(std::move(group));
}

void Library::sweep() {
    std::erase_if(closed_, [this](Closed& one) {
        try {
            if (!one.test(abandoned_)) return false;
        } catch (const Failure&) {
            return true;  // its communicators stay
        }
        MPI_Comm_free(&one.collectives);
        MPI_Comm_free(&one.messages);
        return true;
    });
    std::erase_if(abandoned_, [](InFlight& one) {
        try {
            if (!one.test()) return false;
        } catch (const Failure&) {
            // It has ended as well.
        }
        one.free_types();
        return true;
    });
}

}  // namespace tutti::mpi
