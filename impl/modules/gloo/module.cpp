// The table of the backend. Any thread calls its functions.
#include <gloo/common/error.h>

#include <system_error>

#include "group.hpp"

namespace tutti::gloo_module {

namespace {

template <typename Body>
tutti_status guard(tutti_error* error, Body&& body) noexcept {
    try {
        body();
        return TUTTI_OK;
    } catch (const Failure& failure) {
        return report(failure, error);
    } catch (const std::bad_alloc&) {
        return TUTTI_ERR_OUT_OF_MEMORY;
    } catch (const std::system_error& fault) {  // of a thread
        return report({.status = TUTTI_ERR_OUT_OF_MEMORY,
                       .why = std::string("starting a thread: ") + fault.what(),
                       .number = fault.code().value()},
                      error);
    } catch (const std::exception& fault) {
        return report({TUTTI_ERR_BACKEND, fault.what()}, error);
    }
}

Group& group_of(void* backend) {
    return *static_cast<Group*>(backend);
}

// The dtypes and ops of PyTorch's ProcessGroupGloo.
void limit_to_pytorch(tutti_backend_capabilities& can) {
    can.flags = TUTTI_BACKEND_CALLBACK_MESSAGES | TUTTI_BACKEND_FOREIGN_PEERS;
    can.dtypes = TUTTI_BIT(TUTTI_INT8) | TUTTI_BIT(TUTTI_UINT8) | TUTTI_BIT(TUTTI_INT32) |
                 TUTTI_BIT(TUTTI_INT64) | TUTTI_BIT(TUTTI_FLOAT16) | TUTTI_BIT(TUTTI_BFLOAT16) |
                 TUTTI_BIT(TUTTI_FLOAT32) | TUTTI_BIT(TUTTI_FLOAT64) | TUTTI_BIT(TUTTI_COMPLEX64) |
                 TUTTI_BIT(TUTTI_COMPLEX128) | TUTTI_BIT(TUTTI_BOOL);
    for (uint64_t& ops : can.ops) ops = ~TUTTI_BIT(TUTTI_PREMUL_SUM);
    for (const tutti_dtype half : {TUTTI_FLOAT16, TUTTI_BFLOAT16}) {
        can.ops[half] &= ~TUTTI_BIT(TUTTI_AVG);
    }
}

tutti_status describe(void*, const char* text, tutti_backend_capabilities* out,
                      tutti_error* error) {
    return guard(error, [&] {
        const Settings settings = read_settings(text);
        out->completion = TUTTI_COMPLETION_INLINE;
        out->devices = TUTTI_BIT(TUTTI_CPU);
        out->kinds = TUTTI_ALL_BITS;
        out->dtypes = TUTTI_ALL_BITS;
        out->flags = TUTTI_BACKEND_CALLBACK_MESSAGES | TUTTI_BACKEND_USER_FUNCTIONS |
                     TUTTI_BACKEND_REPRODUCIBLE;
        for (uint64_t& ops : out->ops) ops = TUTTI_ALL_BITS;
        if (settings.has_pytorch_peers) limit_to_pytorch(*out);
    });
}

tutti_status open(void*, const tutti_backend_place* place, void** out, tutti_error* error) {
    return guard(error, [&] {
        const Settings settings = read_settings(place->settings);
        *out = new Group(*place, settings, connect(*place, settings));
    });
}

void close(void* backend) {
    delete &group_of(backend);
}

tutti_status post(void* backend, tutti_backend_call* call, tutti_error* error) {
    return guard(error, [&] { group_of(backend).post(call); });
}

void abort(void* backend, tutti_status status, const char* why) {
    group_of(backend).abort({status, why});
}

void leave(void* backend) {
    guard(nullptr, [&] { group_of(backend).leave(); });
}

int32_t cancel(void* backend, const tutti_backend_call* call) {
    return group_of(backend).cancel(call);
}

constexpr tutti_backend_table table{
    .struct_size = sizeof(tutti_backend_table),
    .version = TUTTI_EXT_VERSION,
    .name = TUTTI_GLOO_NAME,
    .user = nullptr,
    .describe = describe,
    .open = open,
    .close = close,
    .post = post,
    .test = nullptr,
    .abort = abort,
    .left = nullptr,  // a rank that leaves says so itself, behind all that it has sent
    .leave = leave,
    .cancel = cancel,
    .together = nullptr,
    .check = nullptr,
    .split = nullptr,
    .alloc_memory = nullptr,
    .share_memory = nullptr,
    .free_memory = nullptr,
};
constexpr tutti_module module{sizeof(tutti_module), TUTTI_EXT_VERSION, &table, nullptr, nullptr};

}  // namespace

}  // namespace tutti::gloo_module

extern "C" TUTTI_API const tutti_module* tutti_module_get(uint32_t host_version);
const tutti_module* tutti_module_get(uint32_t) {
    return &tutti::gloo_module::module;
}
