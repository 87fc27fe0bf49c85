// A host with an unwinder of its own, which loads the library so that this one finds another first.
// Exceptions that pass frames of the library and end in it must be errors there as anywhere.
//   host LIBRARY deepbind|plain
#include <dlfcn.h>
#include <tutti/tutti.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

namespace {

void* library;

template <typename Function>
Function* function(const char* name) {
    void* const found = dlsym(library, name);
    if (found == nullptr) {
        std::printf("%s is not in the library\n", name);
        std::exit(1);
    }
    return reinterpret_cast<Function*>(found);
}

#define FUNCTION(name) function<decltype(name)>(#name)

void expect(const char* call, tutti_status status, tutti_status wanted, const tutti_error& error) {
    std::printf("%s: %d %s\n", call, status, status != TUTTI_OK ? error.message : "");
    if (status != wanted) std::exit(1);
}

// Exceptions of the host are none of the library's business.
void host_throws() {
    try {
        const std::string held(100, 'x');
        throw std::runtime_error(held);
    } catch (const std::exception&) {
    }
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 3) return 2;
    host_throws();
    const int depth = std::strcmp(arguments[2], "deepbind") == 0 ? RTLD_DEEPBIND : 0;
    library = dlopen(arguments[1], RTLD_NOW | depth);
    if (library == nullptr) {
        std::printf("%s\n", dlerror());
        return 1;
    }

    tutti_error error = TUTTI_ERROR_INIT;
    tutti_store* store = nullptr;
    tutti_group* group = nullptr;
    expect("hash store", FUNCTION(tutti_hash_store_create)(&store, &error), TUTTI_OK, error);
    tutti_store_call_options soon = TUTTI_STORE_CALL_OPTIONS_INIT;
    soon.timeout_ms = 10;
    tutti_bytes* bytes = nullptr;
    expect("get", FUNCTION(tutti_store_get)(store, "none", &soon, &bytes, &error),
           TUTTI_ERR_TIMEOUT, error);
    expect("backend",
           FUNCTION(tutti_group_create)("none", store, "a", 0, 1, nullptr, &group, &error),
           TUTTI_ERR_UNSUPPORTED, error);
    expect("group", FUNCTION(tutti_group_create)("gloo", store, "a", 0, 1, nullptr, &group, &error),
           TUTTI_OK, error);
    tutti_buffer buffer = TUTTI_BUFFER_INIT(nullptr, 3, TUTTI_FLOAT32);
    expect("all_reduce",
           FUNCTION(tutti_all_reduce)(group, nullptr, &buffer, TUTTI_SUM, nullptr, nullptr, &error),
           TUTTI_ERR_INVALID_ARGUMENT, error);
    expect("barrier", FUNCTION(tutti_barrier)(group, nullptr, nullptr, &error), TUTTI_OK, error);
    expect("destroy", FUNCTION(tutti_destroy_process_group)(group, nullptr, &error), TUTTI_OK,
           error);
    FUNCTION(tutti_group_release)(group);
    FUNCTION(tutti_store_release)(store);
    host_throws();
    return 0;
}
