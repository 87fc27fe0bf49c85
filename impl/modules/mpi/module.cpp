// libtutti-mpi-openmpi.so, libtutti-mpi-mpich.so: the backend "mpi" over one MPI. Opening a group,
// and the table.
#include <algorithm>
#include <charconv>
#include <string_view>

#include "communicators.hpp"
#include "group.hpp"

namespace tutti::mpi {

namespace {

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

std::unique_ptr<Group> open_group(const tutti_backend_place& place) {
    const Settings settings = read_settings(place.settings);
    Library& library = Library::get();
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
    }
    const Communicators made = open_communicators(place);
    const std::lock_guard lock(library.mutex);
    return std::make_unique<Group>(place, settings, made.collectives, made.messages);
}

}  // namespace

// Collectives of the group may be under way on its other communicator.
std::unique_ptr<Group> Group::split(const tutti_backend_place& place, int color) {
    try {
        const std::lock_guard lock(Library::get().mutex);
        need_alive();
        Library::get().sweep();
    } catch (Failure& failure) {
        // UNSUPPORTED would mean that the new group is to open its backend.
        if (failure.status == TUTTI_ERR_UNSUPPORTED) failure.status = TUTTI_ERR_BACKEND;
        throw;
    }
    const Communicators made =
        split_communicators(place, ranks_.size, messages_.comm(), endings_.owner(), color);
    if (color < 0) return nullptr;
    const std::lock_guard lock(Library::get().mutex);
    return std::make_unique<Group>(place, ranks_.settings, made.collectives, made.messages);
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
