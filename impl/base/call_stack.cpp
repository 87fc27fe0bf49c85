#include "call_stack.hpp"

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <sys/auxv.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "environment.hpp"
#include "text.hpp"

namespace tutti {

namespace {

constexpr int most_frames = 64;

std::string name_of(const char* symbol) {
    int failed = 0;
    const std::unique_ptr<char, void (*)(void*)> plain(
        abi::__cxa_demangle(symbol, nullptr, nullptr, &failed), std::free);
    return failed == 0 && plain ? plain.get() : symbol;
}

std::string place_of(const void* address, const Dl_info& info) {
    std::array<char, 32> offset{};
    const auto base = reinterpret_cast<uintptr_t>(info.dli_fbase);
    std::snprintf(offset.data(), offset.size(), "+0x%jx",
                  static_cast<uintmax_t>(reinterpret_cast<uintptr_t>(address) - base));
    const std::string_view file = info.dli_fname == nullptr ? "?" : info.dli_fname;
    return cat(std::string(file.substr(file.rfind('/') + 1)), offset.data());
}

// Null if the program has the library in itself: their frames look alike.
const void* find_library() {
    Dl_info own{};
    Dl_info program{};
    ::dladdr(reinterpret_cast<void*>(&shows_call_stacks), &own);
    ::dladdr(reinterpret_cast<void*>(::getauxval(AT_PHDR)), &program);
    return own.dli_fbase == program.dli_fbase ? nullptr : own.dli_fbase;
}

}  // namespace

bool shows_call_stacks() noexcept {
    static const bool shows = [] { return environment("TORCH_SHOW_CPP_STACKTRACES") == "1"; }();
    return shows;
}

std::string call_stack() {
    std::array<void*, most_frames> frames{};
    const int count = ::backtrace(frames.data(), most_frames);
    const void* const library = find_library();
    std::string text;
    bool is_inside = library != nullptr;  // still
    for (int index = 1; index < count; ++index) {
        Dl_info info{};
        // The instruction before the one to return to: a call may be a function's last.
        const void* const address =
            static_cast<const char*>(frames[static_cast<size_t>(index)]) - 1;
        const bool is_known = ::dladdr(address, &info) != 0;
        is_inside = is_inside && is_known && info.dli_fbase == library;
        if (is_inside) continue;
        text += cat(text.empty() ? "" : " <- ", is_known && info.dli_sname != nullptr
                                                    ? name_of(info.dli_sname)
                                                    : place_of(address, info));
    }
    return text;
}

}  // namespace tutti
