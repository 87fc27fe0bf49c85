// libtutti-mpi.so: the backend "mpi" of the MPI that this process has or was started by. It needs
// no MPI itself; every function leads to the library of the one that was chosen.
#include <dlfcn.h>
#include <tutti/ext.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

namespace {

struct Choice {
    const char* name;     // of the library: libtutti-mpi-NAME.so
    const char* title;    // of the MPI
    const char* library;  // its soname
};

constexpr Choice open_mpi{"openmpi", "Open MPI", "libmpi.so.40"};
constexpr Choice mpich{"mpich", "MPICH", "libmpich.so.12"};

const char* const how_to =
    "start the program with mpirun, or link it with its MPI, or name the library in "
    "TUTTI_MPI_MODULE: libtutti-mpi-openmpi.so for Open MPI (libmpi.so.40), libtutti-mpi-mpich.so "
    "for MPICH (libmpich.so.12)";

// By its soname, whatever file it was loaded from.
bool is_loaded(const Choice& mpi) {
    void* const library = dlopen(mpi.library, RTLD_NOW | RTLD_NOLOAD);
    if (library != nullptr) dlclose(library);
    return library != nullptr;
}

bool is_set(const char* variable) {
    return std::getenv(variable) != nullptr;
}

// Null, and the reason, if it cannot be told.
const Choice* choose(std::string& why) {
    const bool has_open_mpi = is_loaded(open_mpi);
    const bool has_mpich = is_loaded(mpich);
    if (has_open_mpi && has_mpich) {
        why = "this process has loaded both Open MPI and MPICH; ";
        return nullptr;
    }
    if (has_open_mpi) return &open_mpi;
    if (has_mpich) return &mpich;
    if (is_set("OMPI_COMM_WORLD_SIZE")) return &open_mpi;
    if (is_set("PMI_RANK") || is_set("PMI_SIZE")) return &mpich;
    why =
        "this process has loaded neither Open MPI nor MPICH, and neither's mpirun has started "
        "it; ";
    return nullptr;
}

// The table of libtutti-mpi-NAME.so, beside this library or where the system looks; or null.
const tutti_backend_table* load(const Choice& choice, std::string& why) {
    const std::string file = std::string("libtutti-mpi-") + choice.name + ".so";
    Dl_info own{};
    void* library = nullptr;
    constexpr int flags = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;
    if (dladdr(reinterpret_cast<const void*>(&choose), &own) != 0) {
        const std::string path = own.dli_fname;
        library = dlopen((path.substr(0, path.rfind('/') + 1) + file).c_str(), flags);
    }
    if (library == nullptr) library = dlopen(file.c_str(), flags);
    if (library == nullptr) {
        why = std::string(choice.title) +
              " is this process's MPI, and its library cannot be loaded: " + dlerror();
        return nullptr;
    }
    const auto get = reinterpret_cast<tutti_module_function>(dlsym(library, TUTTI_MODULE_SYMBOL));
    const tutti_module* const module = get == nullptr ? nullptr : get(TUTTI_EXT_VERSION);
    if (module == nullptr || module->version != TUTTI_EXT_VERSION || module->backend == nullptr ||
        module->backend->struct_size < sizeof(tutti_backend_table)) {
        why = file + " belongs to another version of tutti";
        return nullptr;
    }
    return module->backend;
}

std::atomic<const tutti_backend_table*> chosen{nullptr};

// Chosen once; while nothing can be chosen, anew each time, for the program may load its MPI later.
const tutti_backend_table* find(tutti_error* error) {
    static std::mutex& mutex = *new std::mutex;
    const std::lock_guard lock(mutex);
    if (chosen != nullptr) return chosen;
    std::string why;
    const Choice* const choice = choose(why);
    if (choice == nullptr) {
        why += how_to;
    } else {
        chosen = load(*choice, why);
    }
    if (chosen == nullptr) {
        const size_t length = std::min(why.size(), sizeof error->message - 1);
        std::memcpy(error->message, why.data(), length);
        error->message[length] = '\0';
    }
    return chosen;
}

const tutti_backend_table& it() {
    return *chosen.load(std::memory_order_relaxed);
}

tutti_status describe(void*, const char* settings, tutti_backend_capabilities* out,
                      tutti_error* error) {
    const tutti_backend_table* const table = find(error);
    if (table == nullptr) return TUTTI_ERR_UNSUPPORTED;
    return table->describe(table->user, settings, out, error);
}

tutti_status open(void*, const tutti_backend_place* place, void** out, tutti_error* error) {
    return it().open(it().user, place, out, error);
}

constexpr tutti_backend_table table{
    .struct_size = sizeof(tutti_backend_table),
    .version = TUTTI_EXT_VERSION,
    .name = "mpi",
    .user = nullptr,
    .describe = describe,
    .open = open,
    .close = [](void* backend) { it().close(backend); },
    .post = [](void* backend, tutti_backend_call* call,
               tutti_error* error) { return it().post(backend, call, error); },
    .test = [](void* backend) { return it().test(backend); },
    .abort = [](void* backend, tutti_status status,
                const char* why) { it().abort(backend, status, why); },
    .left = [](void* backend, int32_t rank) { it().left(backend, rank); },
    .leave = [](void* backend) { it().leave(backend); },
    .cancel = [](void* backend,
                 const tutti_backend_call* call) { return it().cancel(backend, call); },
    .together = nullptr,
    .check = nullptr,
    .split = [](void* backend, const tutti_backend_place* place, int32_t color, void** out,
                tutti_error* error) { return it().split(backend, place, color, out, error); },
    .alloc_memory = nullptr,
    .share_memory = nullptr,
    .free_memory = nullptr,
};
constexpr tutti_module module{sizeof(tutti_module), TUTTI_EXT_VERSION, &table, nullptr, nullptr};

}  // namespace

extern "C" TUTTI_API const tutti_module* tutti_module_get(uint32_t host_version);
const tutti_module* tutti_module_get(uint32_t) {
    return &module;
}
