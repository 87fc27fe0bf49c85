// A backend for tests, by tutti/ext.h alone, which can do some collectives only and no messages.
// Ranks are threads of one process. It is built into four libraries, as which NULL_NAME and
// NULL_COMPLETION say:
//   null         ends its collectives on a thread of its own
//   null_polled  ends them when it is asked
//   null_inline  ends them when the call returns; gathers none
//   null_wrong   as null_inline, but fails all_reduces of int8 and gives wrong results for float16
// Settings: "older=1" cannot reduce, as if the build were an older one.
#include <cstring>
#include <map>
#include <memory>
#include <string>

#include "null_hub.hpp"

namespace null {

namespace {

constexpr tutti_completion completion = NULL_COMPLETION;
const std::string own_name = NULL_NAME;

// A rank of a group.
struct Member {
    std::shared_ptr<Hub> hub;
    int32_t rank;
};

tutti_status tell(const End& how, tutti_error* error) {
    error->rank = how.rank;
    std::strncpy(error->message, how.message.c_str(), sizeof error->message - 1);
    return how.status;
}

Member& member_of(void* backend) {
    return *static_cast<Member*>(backend);
}

// The hubs of this process, by the identity of their groups: the first rank that comes makes it.
std::shared_ptr<Hub> hub_of(const tutti_backend_place& place) {
    static std::mutex mutex;
    static std::map<std::string, std::weak_ptr<Hub>> hubs;
    const std::unique_lock<std::mutex> lock(mutex);
    auto& there = hubs[place.group];
    auto hub = there.lock();
    // An inline one needs a thread that ends its collectives as well.
    const bool has_thread = completion != TUTTI_COMPLETION_POLLED;
    if (!hub) there = hub = std::make_shared<Hub>(place.size, has_thread, place.host);
    return hub;
}

tutti_status describe(void* /*user*/, const char* settings, tutti_backend_capabilities* can,
                      tutti_error* error) {
    const bool is_older = std::strcmp(settings, "older=1") == 0;
    if (!is_older && *settings != '\0') {
        return tell({TUTTI_ERR_INVALID_ARGUMENT, -1, own_name + " has no such setting"}, error);
    }
    can->completion = completion;
    can->devices = TUTTI_BIT(TUTTI_CPU) | TUTTI_BIT(TUTTI_CUDA);
    can->kinds = TUTTI_BIT(TUTTI_CALL_BROADCAST) | TUTTI_BIT(TUTTI_CALL_ALL_REDUCE) |
                 TUTTI_BIT(TUTTI_CALL_BARRIER) | TUTTI_BIT(TUTTI_CALL_REDUCE) |
                 TUTTI_BIT(TUTTI_CALL_ALL_GATHER) | TUTTI_BIT(TUTTI_CALL_ALL_GATHER_INTO_TENSOR) |
                 TUTTI_BIT(TUTTI_CALL_REDUCE_SCATTER_TENSOR) |
                 TUTTI_BIT(TUTTI_CALL_ALL_TO_ALL_SINGLE);
    if (completion != TUTTI_COMPLETION_INLINE) can->kinds |= TUTTI_BIT(TUTTI_CALL_COALESCED);
    if (is_older) can->kinds &= ~TUTTI_BIT(TUTTI_CALL_REDUCE);
    can->dtypes = TUTTI_ALL_BITS & ~TUTTI_BIT(TUTTI_BFLOAT16) & ~TUTTI_BIT(TUTTI_COMPLEX128);
    for (uint64_t& ops : can->ops) {
        ops = TUTTI_BIT(TUTTI_SUM) | TUTTI_BIT(TUTTI_AVG) | TUTTI_BIT(TUTTI_PRODUCT) |
              TUTTI_BIT(TUTTI_MIN) | TUTTI_BIT(TUTTI_MAX);
    }
    return TUTTI_OK;
}

tutti_status open(void* /*user*/, const tutti_backend_place* place, void** out_backend,
                  tutti_error* error) {
    auto hub = hub_of(*place);
    // Or a rank that comes and goes would take it away.
    const tutti_status status = place->host->all_gather(place, nullptr, 0, nullptr, error);
    if (status != TUTTI_OK) return status;
    *out_backend = new Member{std::move(hub), place->rank};
    return TUTTI_OK;
}

void close(void* backend) {
    delete &member_of(backend);
}

#ifdef NULL_IS_WRONG
tutti_status go_wrong(Member& member, const tutti_backend_call* call, tutti_error* error) {
    if (call->dtype == TUTTI_INT8) {
        return tell({TUTTI_ERR_BACKEND, -1, "this one always fails"}, error);
    }
    const tutti_status status = tell(member.hub->run(member.rank, call), error);
    const tutti_piece& output = call->outputs[0];
    if (status == TUTTI_OK && call->dtype == TUTTI_FLOAT16 && output.count > 0) {
        *static_cast<unsigned char*>(output.data) ^= 1;
    }
    return status;
}
#endif

tutti_status post(void* backend, tutti_backend_call* call, tutti_error* error) {
    Member& member = member_of(backend);
#ifdef NULL_IS_WRONG
    if (call->kind == TUTTI_CALL_ALL_REDUCE) return go_wrong(member, call, error);
#endif
    if (completion == TUTTI_COMPLETION_INLINE) {
        return tell(member.hub->run(member.rank, call), error);
    }
    return tell(member.hub->post(member.rank, call), error);
}

int32_t test(void* backend) {
    return member_of(backend).hub->test(member_of(backend).rank) ? 1 : 0;
}

void abort(void* backend, tutti_status status, const char* why) {
    member_of(backend).hub->end(member_of(backend).rank, {status, -1, why});
}

void left(void* backend, int32_t rank) {
    member_of(backend).hub->leave(rank);
}

const tutti_backend_table table = {
    sizeof(tutti_backend_table),
    TUTTI_EXT_VERSION,
    NULL_NAME,
    nullptr,
    describe,
    open,
    close,
    post,
    completion == TUTTI_COMPLETION_POLLED ? test : nullptr,
    abort,
    left,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
};

const tutti_module module_of_this = {sizeof(tutti_module), TUTTI_EXT_VERSION, &table, nullptr,
                                     nullptr};

}  // namespace

}  // namespace null

extern "C" TUTTI_API const tutti_module* tutti_module_get(uint32_t /*host_version*/) {
    return &null::module_of_this;
}
