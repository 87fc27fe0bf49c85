// libtutti-nccl.so: the backend "nccl", by the table of tutti/ext.h. Any thread.
#include <algorithm>
#include <cstring>
#include <vector>

#include "communicator.hpp"
#include "gather.hpp"
#include "library.hpp"
#include "mapping.hpp"
#include "memory.hpp"
#include "settings.hpp"
#include "sharing.hpp"
#include "splitting.hpp"
#include "tutti/ext.h"

namespace tutti::nccl {

namespace {

// open() gives one.
struct Backend {
    std::shared_ptr<Communicator> communicator;
};

Communicator& of(void* backend) {
    return *static_cast<Backend*>(backend)->communicator;
}

tutti_status tell(const Failure& failure, tutti_error* error) {
    const size_t length = std::min(failure.message.size(), sizeof error->message - 1);
    std::memcpy(error->message, failure.message.data(), length);
    error->message[length] = '\0';
    return failure.status;
}

// The one place where exceptions end.
template <typename Body>
tutti_status guard(tutti_error* error, Body&& body) {
    try {
        body();
        return TUTTI_OK;
    } catch (const Failure& failure) {
        return tell(failure, error);
    } catch (const std::exception& wrong) {
        return tell({TUTTI_ERR_OUT_OF_MEMORY, 0, wrong.what()}, error);
    }
}

tutti_status describe_backend(void* /*user*/, const char* settings, tutti_backend_capabilities* can,
                              tutti_error* error) {
    return guard(error, [&] {
        describe(*can);
        const Settings wanted = settings_of(settings, Library::get().version());
        if (wanted.is_high_priority_stream) can->flags |= TUTTI_BACKEND_HIGH_PRIORITY;
    });
}

// All ranks get the id that rank 0 makes.
UniqueId agree(const Library& nccl, const tutti_backend_place& place) {
    UniqueId mine{};
    if (place.rank == 0) nccl.check(nccl.get_unique_id(&mine), "ncclGetUniqueId");
    return all_gather(place, place.size, mine).front();
}

tutti_status open_backend(void* /*user*/, const tutti_backend_place* place, void** backend,
                          tutti_error* error) {
    return guard(error, [&] {
        const Library& nccl = Library::get();
        const Settings settings = named(settings_of(place->settings, nccl.version()), *place);
        auto made = std::make_shared<Communicator>(nccl, *place, agree(nccl, *place), settings);
        if (place->is_bound != 0) made->start_on(place->device_index);
        *backend = new Backend{std::move(made)};
    });
}

void close_backend(void* backend) {
    of(backend).close();
    delete static_cast<Backend*>(backend);
}

tutti_status post(void* backend, tutti_backend_call* call, tutti_error* error) {
    return guard(error, [&] { of(backend).post(call); });
}

int32_t test(void* backend) {
    return of(backend).test() ? 1 : 0;
}

void abort_backend(void* backend, tutti_status status, const char* why) {
    of(backend).abort({status, 0, why});
}

void leave(void* backend) {
    of(backend).leave();
}

void together(void* backend, int32_t begins) {
    of(backend).together(begins != 0);
}

tutti_status check(void* backend, tutti_error* error) {
    return guard(error, [&] { of(backend).check(); });
}

tutti_status split(void* backend, const tutti_backend_place* place, int32_t color,
                   void** out_backend, tutti_error* error) {
    return guard(error, [&] {
        std::shared_ptr<Communicator> made;
        if (!nccl::split(of(backend), *place, color, made)) {
            throw Failure{TUTTI_ERR_UNSUPPORTED, 0, "it is bound to no device, or has had no call"};
        }
        if (made) *out_backend = new Backend{std::move(made)};
    });
}

tutti_status alloc_memory(void* backend, tutti_device_type /*device_type*/, int32_t device_index,
                          int64_t bytes, void** out_memory, tutti_error* error) {
    return guard(error, [&] {
        *out_memory = make_memory(of(backend), device_index, static_cast<size_t>(bytes));
    });
}

tutti_status share_memory(void* backend, const tutti_backend_place* place, void* memory,
                          tutti_error* error) {
    return guard(error, [&] { share(of(backend), *place, Memory::find(memory)); });
}

void free_memory(void* /*user*/, void* memory) {
    Memory::give_back(memory);
}

constexpr tutti_backend_table table{
    .struct_size = sizeof(tutti_backend_table),
    .version = TUTTI_EXT_VERSION,
    .name = "nccl",
    .user = nullptr,
    .describe = describe_backend,
    .open = open_backend,
    .close = close_backend,
    .post = post,
    .test = test,
    .abort = abort_backend,
    .left = nullptr,
    .leave = leave,
    .cancel = nullptr,
    .together = together,
    .check = check,
    .split = split,
    .alloc_memory = alloc_memory,
    .share_memory = share_memory,
    .free_memory = free_memory,
};

constexpr tutti_module module{
    .struct_size = sizeof(tutti_module),
    .version = TUTTI_EXT_VERSION,
    .backend = &table,
    .store = nullptr,
    .rendezvous = nullptr,
};

}  // namespace

}  // namespace tutti::nccl

extern "C" __attribute__((visibility("default"))) const tutti_module* tutti_module_get(
    uint32_t /*host_version*/) {
    return &tutti::nccl::module;
}
