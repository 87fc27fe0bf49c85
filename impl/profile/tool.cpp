#include "tool.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/open_descriptors.hpp"

namespace tutti::profile {

namespace {

// A module's functions, as a tool gave them, and the table of their places, which ends with null.
struct Functions {
    std::array<nvtx::Function, nvtx::max_functions> given{};
    std::array<nvtx::Function*, nvtx::max_functions + 1> places{};
};
std::array<Functions, std::size(nvtx::functions_of)> modules;

int get_functions(nvtx::Module module, nvtx::Function*** out_table, unsigned* out_size) {
    const auto number = static_cast<size_t>(module);
    if (number == 0 || number >= modules.size()) return 0;
    Functions& functions = modules[number];
    const unsigned size = nvtx::functions_of[number];
    for (unsigned i = 1; i < size; ++i) functions.places[i] = &functions.given[i];
    if (out_table != nullptr) *out_table = functions.places.data();
    if (out_size != nullptr) *out_size = size;
    return 1;
}

constexpr nvtx::Callbacks callbacks{.get_functions = get_functions};
constexpr nvtx::VersionInfo version_info{.set_version_of_tool = [](uint32_t) {}};

const void* get_table(uint32_t table) {
    if (table == nvtx::callbacks_table) return &callbacks;
    return table == nvtx::version_table ? &version_info : nullptr;
}

template <typename Signature>
Signature* given(unsigned function) {
    const auto& core2 = modules[static_cast<size_t>(nvtx::Module::Core2)];
    return reinterpret_cast<Signature*>(core2.given[function]);
}

// Why there is none, in a text; nothing if there is.
const char* initialize(const std::string& path) {
    void* const library = dlopen(path.c_str(), RTLD_LAZY | RTLD_NODELETE);
    if (library == nullptr) return dlerror();
    void* const symbol = dlsym(library, nvtx::initialize_symbol);
    if (symbol == nullptr) return dlerror();
    if (reinterpret_cast<nvtx::Initialize*>(symbol)(get_table) == 0) return "it refuses";
    auto* const create = given<nvtx::DomainCreate>(nvtx::domain_create);
    auto* const push = given<nvtx::RangePush>(nvtx::range_push);
    auto* const pop = given<nvtx::RangePop>(nvtx::range_pop);
    if (create == nullptr || push == nullptr || pop == nullptr) return "it takes no ranges";
    tool.store(new Tool{create("tutti"), push, pop}, std::memory_order_release);
    return nullptr;
}

}  // namespace

void find_tool() noexcept {
    try {
        const auto path = environment(nvtx::path_variable);
        if (!path) return;
        const StandardPlaceholders held;
        const char* const why = initialize(*path);
        if (why != nullptr) {
            log(LogLevel::Warning, nvtx::path_variable, " names ", *path,
                ", and calls are no ranges: ", why);
        }
    } catch (...) {
        log(LogLevel::Warning, "calls are no ranges: ", current_status().message);
    }
}

}  // namespace tutti::profile
