// tutti/group.h, and the default group: the handle behind TUTTI_GROUP_WORLD. Any thread.
#include "group.hpp"

#include <atomic>

#include "arguments.hpp"
#include "backend/registry.hpp"
#include "group/all_gather.hpp"
#include "group/rendezvous.hpp"
#include "guard.hpp"
#include "options.hpp"
#include "reaper.hpp"

namespace capi = tutti::capi;

namespace {

constinit std::atomic<tutti_group*> world{nullptr};

void refuse_second_init() {
    if (world != nullptr) {
        capi::refuse("the default group exists already; end it with tutti_destroy_process_group");
    }
}

tutti_group* need_world() {
    tutti_group* group = world;
    if (group == nullptr) {
        throw capi::Refusal(TUTTI_ERR_INVALID_HANDLE,
                            "there is no default group; call tutti_init_process_group first");
    }
    return group;
}

// A name that is not known, or a malformed variable, is refused before anybody meets.
std::string read_backend(const char* backend) {
    std::string resolved = tutti::resolve_backend(backend == nullptr ? "" : backend);
    tutti::check_environment();
    return resolved;
}

// 0: not given.
int64_t read_own_timeout(const tutti_group_options* options) {
    return capi::read_options(options).timeout_ms;
}

int64_t read_timeout(const tutti_group_options* options) {
    const int64_t timeout_ms = read_own_timeout(options);
    return timeout_ms == 0 ? tutti::GroupOptions{}.timeout_ms : timeout_ms;
}

void check_membership(int32_t rank, int32_t world_size) {
    if (world_size < 1) capi::refuse("world_size is ", world_size, "; it must be 1 or more");
    if (rank < 0 || rank >= world_size) {
        capi::refuse("rank is ", rank, "; it must be from 0 to world_size - 1, which is ",
                     world_size - 1);
    }
}

void make_world(const tutti::GroupOptions& options) {
    capi::Reserved<tutti_group> slot;
    tutti_group* made = slot.publish(tutti::Group::create(options));
    tutti_group* none = nullptr;
    if (world.compare_exchange_strong(none, made)) return;
    capi::release(made);
    refuse_second_init();
}

}  // namespace

namespace tutti::capi {

GroupPin find_group(tutti_group* group) noexcept {
    if (forked()) return GroupPin(nullptr);
    return GroupPin(group == TUTTI_GROUP_WORLD ? world.load() : group);
}

GroupPin need_group(tutti_group* group) {
    return {group == TUTTI_GROUP_WORLD ? need_world() : group, "group"};
}

}  // namespace tutti::capi

extern "C" {

void tutti_group_options_init(tutti_group_options* options, size_t size) {
    capi::write_default_options(options, size);
}

tutti_status tutti_init_process_group(const char* backend, const char* init_method, int32_t rank,
                                      int32_t world_size, const tutti_group_options* options,
                                      tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        refuse_second_init();
        tutti::GroupOptions wanted;
        wanted.backend = read_backend(backend);
        wanted.name = "world";
        const int64_t timeout_ms = read_own_timeout(options);
        capi::let_releases_end();
        const tutti::Meeting meeting = tutti::meet(init_method == nullptr ? "env://" : init_method,
                                                   rank, world_size, timeout_ms);
        wanted.store = meeting.store;
        wanted.rank = meeting.rank;
        wanted.size = meeting.world_size;
        wanted.timeout_ms = meeting.timeout_ms;
        make_world(wanted);
    });
}

tutti_status tutti_init_process_group_with_store(const char* backend, tutti_store* store,
                                                 int32_t rank, int32_t world_size,
                                                 const tutti_group_options* options,
                                                 tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const capi::Pin pin(store, "store");
        refuse_second_init();
        check_membership(rank, world_size);
        make_world({.backend = read_backend(backend),
                    .store = pin.share(),
                    .rank = rank,
                    .size = world_size,
                    .name = "world",
                    .timeout_ms = read_timeout(options)});
    });
}

int32_t tutti_is_initialized(void) {
    return !capi::forked() && world != nullptr ? 1 : 0;
}

tutti_status tutti_group_create(const char* backend, tutti_store* store, int32_t rank,
                                int32_t world_size, const tutti_group_options* options,
                                tutti_group** out_group, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const capi::Pin pin(store, "store");
        check_membership(rank, world_size);
        capi::need_output(out_group, "out_group");
        *out_group = capi::hand_out<tutti_group>(
            tutti::Group::create({.backend = read_backend(backend),
                                  .store = pin.share(),
                                  .rank = rank,
                                  .size = world_size,
                                  .name = "unnamed",
                                  .timeout_ms = read_timeout(options)}));
    });
}

tutti_status tutti_group_create_with_allgather(const char* backend,
                                               tutti_allgather_callback callback, void* user,
                                               int32_t rank, int32_t world_size,
                                               const tutti_group_options* options,
                                               tutti_group** out_group, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        if (callback == nullptr) capi::refuse("callback is NULL");
        check_membership(rank, world_size);
        capi::need_output(out_group, "out_group");
        tutti::GroupOptions wanted{.backend = read_backend(backend),
                                   .store = nullptr,
                                   .rank = rank,
                                   .size = world_size,
                                   .name = "unnamed",
                                   .timeout_ms = read_timeout(options)};
        wanted.store = tutti::meet_by_all_gather(
            [callback, user](const void* input, void* output, size_t size) {
                return callback(input, output, size, user);
            },
            rank, world_size, wanted.timeout_ms);
        *out_group = capi::hand_out<tutti_group>(tutti::Group::create(wanted));
    });
}

tutti_status tutti_destroy_process_group(tutti_group* group, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const capi::GroupPin pin = capi::need_group(group);
        if (group == TUTTI_GROUP_WORLD) capi::release(world.exchange(nullptr));
        pin->destroy();
    });
}

int32_t tutti_get_rank(tutti_group* group) {
    const capi::GroupPin pin = capi::find_group(group);
    return pin ? pin->rank() : -1;
}

int32_t tutti_get_world_size(tutti_group* group) {
    const capi::GroupPin pin = capi::find_group(group);
    return pin ? pin->size() : -1;
}

const char* tutti_get_backend(tutti_group* group) {
    const capi::GroupPin pin = capi::find_group(group);
    return pin ? pin->backend_name() : nullptr;
}

void tutti_group_release(tutti_group* group) {
    if (!capi::forked()) capi::release(group);
}

}  // extern "C"
