// tutti/group.h, and the default group: the handle behind TUTTI_GROUP_WORLD. Any thread.
#include "group.hpp"

#include <algorithm>
#include <atomic>
#include <optional>
#include <vector>

#include "arguments.hpp"
#include "backends/backend_map.hpp"
#include "base/log_format.hpp"
#include "buffers.hpp"
#include "group/all_gather.hpp"
#include "group/ranks.hpp"
#include "group/rendezvous.hpp"
#include "guard.hpp"
#include "options.hpp"
#include "reaper.hpp"
#include "user.hpp"

namespace capi = tutti::capi;

namespace {

constinit std::atomic<tutti_group*> world{nullptr};

void refuse_second_init() {
    if (world != nullptr) {
        capi::refuse("the default group exists already; end it with tutti_destroy_process_group");
    }
}

tutti_group* existing_world() {
    tutti_group* group = world;
    if (group == nullptr) {
        throw capi::Refusal(TUTTI_ERR_INVALID_HANDLE,
                            "there is no default group; call tutti_init_process_group first");
    }
    return group;
}

// A name that is not known, or a malformed variable, is refused before anybody meets. What this
// process lacks for a backend's library is told where the others can learn which rank it is.
std::string read_backend(const char* backend) {
    const std::string given = backend == nullptr ? "" : backend;
    try {
        tutti::check_environment();
        tutti::resolve_backends(given);
    } catch (const tutti::Error& error) {
        if (error.status().code == TUTTI_ERR_OUT_OF_MEMORY) return given;
        throw capi::Refusal(error.status());  // the function's name goes first
    }
    return given;
}

std::string read_description(const char* description, const char* otherwise) {
    return description == nullptr || *description == '\0' ? otherwise : description;
}

void check_membership(int32_t rank, int32_t world_size) {
    if (world_size < 1) capi::refuse("world_size is ", world_size, "; it must be 1 or more");
    if (rank < 0 || rank >= world_size) {
        capi::refuse("rank is ", rank, "; it must be from 0 to world_size - 1, which is ",
                     world_size - 1);
    }
}

std::shared_ptr<tutti::Store> adopt_store(tutti_store* store) {
    auto shared = capi::Pin(store, "the store that it gave").share();
    capi::release(store);
    return shared;
}

// From now on log lines name this rank.
void say_rank_in_log(tutti_group* group) noexcept {
    if (const capi::GroupPin pin(group); pin) tutti::set_log_rank(pin->rank(), pin->size());
}

void make_world(const tutti::GroupOptions& options) {
    capi::Reserved<tutti_group> slot;
    tutti::set_log_rank(options.rank, options.size);
    tutti_group* made = slot.publish(tutti::Group::create(options));
    tutti_group* none = nullptr;
    if (world.compare_exchange_strong(none, made)) return;
    capi::release(made);
    refuse_second_init();
}

void init_world(const char* backend, const char* init_method, const char* description, int32_t rank,
                int32_t world_size, const tutti_group_options* options) {
    refuse_second_init();
    tutti::GroupOptions wanted;
    wanted.backend = read_backend(backend);
    wanted.name = read_description(description, "world");
    const tutti_group_options given = capi::read_group_options(options);
    wanted.reproducible = given.reproducible != 0;
    wanted.bound = {given.device_type, given.device_index};
    capi::drain_reaper();
    const tutti::Rendezvous rendezvous =
        tutti::rendezvous(init_method == nullptr ? "env://" : init_method, rank, world_size,
                          given.timeout_ms, adopt_store);
    wanted.store = rendezvous.store;
    wanted.rank = rendezvous.rank;
    wanted.size = rendezvous.world_size;
    wanted.timeout_ms = rendezvous.timeout_ms;
    const tutti::Deadline deadline = tutti::Deadline::after_ms(wanted.timeout_ms);
    while (true) {
        try {
            return make_world(wanted);
        } catch (const tutti::Error& error) {
            const bool is_lost =
                error.status().code == TUTTI_ERR_STORE && wanted.store->has_lost_server();
            if (!is_lost || !rendezvous.meet_again || deadline.expired()) throw;
        }
        wanted.store = rendezvous.meet_again(deadline);
    }
}

std::optional<bool> read_reproducible(uint32_t choice) {
    if (choice > TUTTI_NOT_REPRODUCIBLE) {
        capi::refuse("options.reproducible is ", choice,
                     "; it must be TUTTI_AS_PARENT (0), TUTTI_REPRODUCIBLE (1) or "
                     "TUTTI_NOT_REPRODUCIBLE (2)");
    }
    if (choice == TUTTI_AS_PARENT) return std::nullopt;
    return choice == TUTTI_REPRODUCIBLE;
}

tutti::Device read_bound(const tutti::Group& parent, const tutti_new_group_options& options) {
    capi::check_device(options.device_type, options.device_index, {"options"});
    return parent.identity().bound_device_for({options.device_type, options.device_index});
}

// Whether only members call, also where the options are refused for something else.
bool is_local(const tutti_new_group_options* options) {
    if (options == nullptr) return false;
    const bool has_flag =
        options->struct_size >= capi::min_options && options->struct_size <= capi::max_options;
    return has_flag && options->use_local_synchronization != 0;
}

// The options of a new group. A fault of this rank's arguments fails the others' calls, which would
// wait for it. Where only members call, they are known once `read` has set the callers.
template <typename Read>
tutti::SplitOptions read_or_decline(tutti::Group& group, const char* function,
                                    const char* description, const tutti_new_group_options* options,
                                    Read&& read) {
    group.identity().check_may_wait(
        function);  // others, whose functions do not run, do not call it
    tutti::SplitOptions wanted;
    wanted.function = function;
    wanted.description = description == nullptr ? "" : description;
    try {
        const tutti_new_group_options given = capi::read_options(options);
        capi::check_flag(given.use_local_synchronization, "options.use_local_synchronization");
        wanted.timeout_ms = given.timeout_ms;
        read(wanted, given);
        wanted.reproducible = read_reproducible(given.reproducible);
        wanted.bound = read_bound(group, given);
    } catch (const tutti::Error& error) {
        wanted.bound = {};
        if (wanted.callers || !is_local(options)) group.decline(wanted, error.status());
        throw;
    }
    return wanted;
}

// Checked against the ranks of the group that they are chosen from.
std::vector<int> read_ranks(const int32_t* ranks, int64_t given_count, int size) {
    const size_t count = capi::read_count(given_count, "count");
    if (ranks == nullptr) {
        if (count > 0) capi::refuse("ranks is NULL but count is ", count);
        return tutti::all_ranks(size);
    }
    if (count == 0) capi::refuse("count is 0; a group has at least one rank");
    return tutti::checked_ranks({ranks, count}, size);
}

std::vector<std::vector<int>> read_parts(const int32_t* ranks, int64_t given_count,
                                         const int64_t* sizes, int64_t split_count, int size) {
    const size_t count = capi::read_count(given_count, "count");
    if (split_count < 1) capi::refuse("split_count is ", split_count, "; it must be 1 or more");
    if (ranks == nullptr) capi::refuse("ranks is NULL");
    if (sizes == nullptr) capi::refuse("sizes is NULL");
    size_t total = 0;
    for (size_t part = 0; part < static_cast<size_t>(split_count); ++part) {
        if (sizes[part] < 1 || sizes[part] > size) {
            capi::refuse(capi::indexed("sizes", part), " is ", sizes[part],
                         "; it must be from 1 to the size of the group, which is ", size);
        }
        total += static_cast<size_t>(sizes[part]);
        if (total > static_cast<size_t>(size)) {
            capi::refuse("sizes has ", total, " ranks up to sizes[", part, "], and the group has ",
                         size);
        }
    }
    if (count != total) {
        capi::refuse("count is ", count, ", and the sizes of the new groups sum up to ", total);
    }
    tutti::checked_ranks({ranks, total}, size);  // no rank in two parts
    std::vector<std::vector<int>> parts;
    for (size_t part = 0, first = 0; part < static_cast<size_t>(split_count); ++part) {
        const auto length = static_cast<size_t>(sizes[part]);
        parts.push_back(tutti::checked_ranks({ranks + first, length}, size, first));
        first += length;
    }
    return parts;
}

}  // namespace

namespace tutti::capi {

GroupPin find_group(tutti_group* group) noexcept {
    if (forked()) return GroupPin(nullptr);
    return GroupPin(group == TUTTI_GROUP_WORLD ? world.load() : group);
}

GroupPin need_group(tutti_group* group, const Argument& argument) {
    if (group == TUTTI_GROUP_NON_MEMBER) {
        throw Refusal(
            TUTTI_ERR_INVALID_HANDLE,
            cat(argument.text(), " is TUTTI_GROUP_NON_MEMBER: this rank is not in that group"));
    }
    return {group == TUTTI_GROUP_WORLD ? existing_world() : group, argument};
}

Pin<CoalescingHandle> find_coalescing(tutti_group* group) noexcept {
    if (forked()) return Pin<CoalescingHandle>(nullptr);
    return Pin(reinterpret_cast<CoalescingHandle*>(group));
}

CallTarget::CallTarget(tutti_group* group) : pin_(find_group(group)) {
    if (pin_) {
        group_ = pin_.get();
        return;
    }
    coalescing_.emplace(find_coalescing(group));
    if (!*coalescing_) need_group(group);  // throws
    group_ = &(*coalescing_)->group();
}

tutti_group* hand_out_group(std::shared_ptr<Group> group) {
    return group ? hand_out<tutti_group>(std::move(group)) : TUTTI_GROUP_NON_MEMBER;
}

tutti_group_options read_group_options(const tutti_group_options* given) {
    const tutti_group_options options = read_options(given);
    check_flag(options.reproducible, "options.reproducible");
    check_device(options.device_type, options.device_index, {"options"});
    return options;
}

GroupOptions read_first_group(const char* backend, const char* description, const char* otherwise,
                              const tutti_group_options* options) {
    const tutti_group_options given = read_group_options(options);
    GroupOptions wanted;
    wanted.backend = read_backend(backend);
    wanted.name = read_description(description, otherwise);
    if (given.timeout_ms != 0) wanted.timeout_ms = given.timeout_ms;
    wanted.reproducible = given.reproducible != 0;
    wanted.bound = {given.device_type, given.device_index};
    return wanted;
}

void check_out_group(bool replaces_world, tutti_group** out_group) {
    if (!replaces_world) return need_output(out_group, "out_group");
    if (out_group == nullptr) return;
    refuse("out_group is not NULL; TUTTI_GROUP_WORLD is the new group afterwards");
}

void replace_world(tutti_group* made) {
    say_rank_in_log(made);
    release(world.exchange(made));
}

void replace_world(tutti_group* before, tutti_group* made) {
    if (world.compare_exchange_strong(before, made)) {
        say_rank_in_log(made);
        return release(before);
    }
    release(made);
    throw Refusal(TUTTI_ERR_ABORTED, "the default group was destroyed or replaced meanwhile");
}

tutti_group* world_handle() noexcept {
    return world;
}

void make_world(const tutti_group_options* options) {
    init_world(nullptr, nullptr, nullptr, -1, -1, options);
}

}  // namespace tutti::capi

extern "C" {

void tutti_group_options_init(tutti_group_options* options, size_t size) {
    capi::write_default_options(options, size);
}

tutti_status tutti_init_process_group(const char* backend, const char* init_method,
                                      const char* description, int32_t rank, int32_t world_size,
                                      const tutti_group_options* options, tutti_error* error) {
    return capi::guard<capi::ErrorPrefix::All>(__func__, error, [&] {
        init_world(backend, init_method, description, rank, world_size, options);
    });
}

tutti_status tutti_init_process_group_with_store(const char* backend, tutti_store* store,
                                                 const char* description, int32_t rank,
                                                 int32_t world_size,
                                                 const tutti_group_options* options,
                                                 tutti_error* error) {
    return capi::guard<capi::ErrorPrefix::All>(__func__, error, [&] {
        const capi::Pin pin(store, "store");
        refuse_second_init();
        check_membership(rank, world_size);
        auto wanted = capi::read_first_group(backend, description, "world", options);
        wanted.rank = rank;
        wanted.size = world_size;
        wanted.store = pin.share();
        make_world(wanted);
    });
}

int32_t tutti_is_initialized(void) {
    return !capi::forked() && world != nullptr ? 1 : 0;
}

tutti_status tutti_group_create(const char* backend, tutti_store* store, const char* description,
                                int32_t rank, int32_t world_size,
                                const tutti_group_options* options, tutti_group** out_group,
                                tutti_error* error) {
    return capi::guard<capi::ErrorPrefix::All>(__func__, error, [&] {
        const capi::Pin pin(store, "store");
        check_membership(rank, world_size);
        capi::need_output(out_group, "out_group");
        auto wanted = capi::read_first_group(backend, description, "unnamed", options);
        wanted.rank = rank;
        wanted.size = world_size;
        wanted.store = pin.share();
        *out_group = capi::hand_out<tutti_group>(tutti::Group::create(wanted));
    });
}

void tutti_new_group_options_init(tutti_new_group_options* options, size_t size) {
    capi::write_default_options(options, size);
}

tutti_status tutti_new_group(tutti_group* group, const int32_t* ranks, int64_t count,
                             const char* backend, const char* description,
                             const tutti_new_group_options* options, tutti_group** out_group,
                             tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const capi::GroupPin pin = capi::need_group(group);
        const auto read = [&](tutti::SplitOptions& wanted, const tutti_new_group_options& given) {
            wanted.parts = {read_ranks(ranks, count, pin->size())};
            if (given.use_local_synchronization != 0) {
                if (!std::ranges::binary_search(wanted.parts.front(), pin->rank())) {
                    capi::refuse("this rank, ", pin->rank(),
                                 ", is not in ranks; with options.use_local_synchronization only "
                                 "members may call");
                }
                wanted.callers = wanted.parts.front();
            }
            wanted.backend = backend == nullptr ? "" : read_backend(backend);
            capi::need_output(out_group, "out_group");
        };
        const auto wanted = read_or_decline(*pin, "new_group", description, options, read);
        capi::Reserved<tutti_group> slot;
        auto made = pin->split(wanted);
        *out_group = made ? slot.publish(std::move(made)) : TUTTI_GROUP_NON_MEMBER;
    });
}

tutti_status tutti_split_group(tutti_group* group, const int32_t* ranks, int64_t count,
                               const int64_t* sizes, int64_t split_count, const char* description,
                               const tutti_new_group_options* options, tutti_group** out_group,
                               tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const capi::GroupPin pin = capi::need_group(group);
        const auto read = [&](tutti::SplitOptions& wanted, const tutti_new_group_options& given) {
            if (given.use_local_synchronization != 0) {
                capi::refuse("options.use_local_synchronization is ",
                             given.use_local_synchronization,
                             "; all ranks split together, so it must be 0");
            }
            wanted.parts = read_parts(ranks, count, sizes, split_count, pin->size());
            capi::need_output(out_group, "out_group");
        };
        const auto wanted = read_or_decline(*pin, "split_group", description, options, read);
        capi::Reserved<tutti_group> slot;
        auto made = pin->split(wanted);
        *out_group = made ? slot.publish(std::move(made)) : TUTTI_GROUP_NON_MEMBER;
    });
}

tutti_status tutti_group_create_with_allgather(const char* backend,
                                               tutti_allgather_callback callback, void* user,
                                               const char* description, int32_t rank,
                                               int32_t world_size,
                                               const tutti_group_options* options,
                                               tutti_group** out_group, tutti_error* error) {
    return capi::guard<capi::ErrorPrefix::All>(__func__, error, [&] {
        if (callback == nullptr) capi::refuse("callback is NULL");
        check_membership(rank, world_size);
        capi::need_output(out_group, "out_group");
        auto wanted = capi::read_first_group(backend, description, "unnamed", options);
        wanted.rank = rank;
        wanted.size = world_size;
        wanted.store = tutti::make_store_by_all_gather(
            [callback, user](const void* input, void* output, size_t size) {
                tutti_error told = TUTTI_ERROR_INIT;
                return capi::status_of(callback(input, output, size, user, &told), told);
            },
            rank, world_size, wanted.timeout_ms);
        *out_group = capi::hand_out<tutti_group>(tutti::Group::create(wanted));
    });
}

void tutti_destroy_options_init(tutti_destroy_options* options, size_t size) {
    capi::write_default_options(options, size);
}

tutti_status tutti_destroy_process_group(tutti_group* group, const tutti_destroy_options* options,
                                         tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const tutti_destroy_options given = capi::read_options(options);
        if (group == TUTTI_GROUP_NON_MEMBER) return;  // as torch
        const capi::GroupPin pin = capi::need_group(group);
        pin->identity().check_may_be_destroyed();
        const int64_t leave_ms =
            given.timeout_ms == 0 ? tutti::Group::default_leave_ms : given.timeout_ms;
        if (group != TUTTI_GROUP_WORLD) return pin->destroy(leave_ms);
        const auto first = pin->first();  // another one, if the default group has been shrunk
        capi::release(world.exchange(nullptr));
        first->destroy(leave_ms);
    });
}

tutti_status tutti_group_retain(tutti_group* group, tutti_group** out_group, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        capi::need_output(out_group, "out_group");
        if (group == TUTTI_GROUP_NON_MEMBER) {
            *out_group = group;
            return;
        }
        *out_group = capi::hand_out<tutti_group>(capi::need_group(group).share());
    });
}

void tutti_group_release(tutti_group* group) {
    if (capi::forked()) return;
    capi::release(group);
    capi::release(reinterpret_cast<capi::CoalescingHandle*>(group));
}

}  // extern "C"
