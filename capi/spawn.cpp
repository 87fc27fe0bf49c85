// tutti/spawn.h. The caller's thread; after fork also the only thread of the child, until the
// function has returned.
#include "tutti/spawn.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "arguments.hpp"
#include "base/log.hpp"
#include "base/open_descriptors.hpp"
#include "base/thread.hpp"
#include "guard.hpp"
#include "handle.hpp"
#include "memory/held_memory.hpp"
#include "options.hpp"
#include "progress/sleep.hpp"
#include "reaper.hpp"
#include "spawn/spawn.hpp"
#include "user.hpp"

namespace capi = tutti::capi;

namespace {

// A thread that has ended may be seen for a moment longer.
constexpr int64_t vanishing_ms = 1'000;

void refuse_living(size_t count, const char* noun, const char* ending) {
    if (count == 0) return;
    throw capi::Refusal(
        TUTTI_ERR_UNSUPPORTED,
        tutti::cat("this process still has ", count, " ", noun, count > 1 ? "s" : "",
                   ", which new processes cannot share; ", ending, " first"));
}

std::string read_thread_name(const std::filesystem::path& of) {
    const tutti::StandardPlaceholders held;
    std::ifstream file(of / "comm");
    std::string name;
    std::getline(file, name);
    return name;
}

// The name of one of tutti's threads in this process; empty if there is none. A program's first
// thread and those it starts have the program's name, which may begin as ours do.
std::string find_thread() {
    const tutti::StandardPlaceholders held;
    std::error_code none;
    const std::string program = read_thread_name("/proc/self");
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", none)) {
        std::string name = read_thread_name(task.path());
        if (name.starts_with("tutti-") && name != program) return name;
    }
    return "";
}

void refuse_threads() {
    const auto deadline = tutti::Deadline::after_ms(vanishing_ms);
    std::string name;
    while (!(name = find_thread()).empty()) {
        if (deadline.expired()) {
            throw capi::Refusal(TUTTI_ERR_UNSUPPORTED,
                                tutti::cat("a thread of tutti, ", name,
                                           ", is running: another thread is in a call, "
                                           "or processes of an earlier spawn are still there"));
        }
        tutti::yield();
    }
}

// Refuses if the process has anything that a fork would tear apart.
void clear_the_process() {
    refuse_living(capi::count_handles(capi::Kind::Group), "group", "destroy and release it");
    refuse_living(capi::count_handles(capi::Kind::Coalescing), "coalescing", "end it");
    refuse_living(capi::count_handles(capi::Kind::Reducer), "reducer", "release it");
    refuse_living(capi::count_handles(capi::Kind::Work), "work", "release it");
    refuse_living(capi::count_handles(capi::Kind::Store), "store", "release it");
    refuse_living(tutti::HeldMemory::of_process().count(), "piece of tutti_memory_alloc's memory",
                  "release it");
    if (tutti::log_is_listened_to()) {
        throw capi::Refusal(TUTTI_ERR_UNSUPPORTED,
                            "this process has a log callback, which new processes cannot share; "
                            "end it with tutti_set_log_callback(NULL, ...) first");
    }
    capi::end_reaper();
    refuse_threads();
}

tutti::Status call(tutti_spawn_function function, void* user, int rank) {
    tutti_error error = TUTTI_ERROR_INIT;
    return capi::status_of(function(rank, user, &error), error);
}

tutti::spawn::Plan read_plan(tutti_spawn_function function, void* user, int32_t nprocs,
                             const tutti_spawn_options& options) {
    if (function == nullptr) capi::refuse("function is NULL");
    if (nprocs < 1 || nprocs > tutti::spawn::max_processes) {
        capi::refuse("nprocs is ", nprocs, "; it must be from 1 to ", tutti::spawn::max_processes);
    }
    capi::check_flag(options.keep_environment, "options.keep_environment");
    if (options.grace_period_ms < 0) {
        capi::refuse("options.grace_period_ms is ", options.grace_period_ms,
                     "; it must be 0 or more");
    }
    tutti::spawn::Plan plan;
    plan.count = nprocs;
    plan.environment = options.keep_environment == 0;
    if (options.grace_period_ms > 0) plan.grace_ms = options.grace_period_ms;
    plan.enter = capi::start_afresh;
    plan.body = [function, user](int rank) { return call(function, user, rank); };
    return plan;
}

class SpawnWork final : public tutti::Work {
    using Work::Work;
    [[nodiscard]] std::string describe() const override { return operation(); }
};

}  // namespace

extern "C" {

void tutti_spawn_options_init(tutti_spawn_options* options, size_t size) {
    capi::write_default_options(options, size);
}

tutti_status tutti_spawn(tutti_spawn_function function, void* user, int32_t nprocs,
                         const tutti_spawn_options* options, tutti_work** work,
                         tutti_error* error) {
    return capi::guard<capi::ErrorPrefix::All>(__func__, error, [&] {
        const auto wanted = capi::read_options(options);
        const auto plan = read_plan(function, user, nprocs, wanted);
        clear_the_process();
        const int64_t timeout_ms = wanted.timeout_ms == 0 ? -1 : wanted.timeout_ms;
        const auto deadline = tutti::Deadline::after_ms(timeout_ms);
        if (work == nullptr) {
            const tutti::Status status = tutti::spawn::Spawn(plan).wait(deadline);
            if (!status.ok()) throw tutti::Error(status);
            return;
        }
        capi::Reserved<tutti_work> slot;
        auto spawned = std::make_shared<tutti::spawn::Spawn>(plan);
        auto watched = std::make_shared<SpawnWork>("spawn");
        tutti::start_thread("tutti-spawn", [watched, spawned, deadline]() mutable {
            const tutti::Status status = spawned->wait(deadline);
            spawned.reset();
            watched->finish(status);
        }).detach();
        *work = slot.publish(watched);
    });
}

}  // extern "C"
