#include "library.hpp"

namespace tutti::nccl {

namespace {

tutti_status status_of(Result result) {
    if (result == Result::RemoteError) return TUTTI_ERR_PEER_LOST;  // NCCL does not say which
    return result == Result::InvalidArgument ? TUTTI_ERR_INVALID_ARGUMENT : TUTTI_ERR_BACKEND;
}

}  // namespace

std::string text_of(int version) {
    return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
           std::to_string(version % 100);
}

const Library& Library::get() {
    return cuda::loaded_once<Library>([] { return new Library; });
}

Library::Library() : loaded_("NCCL", "TUTTI_NCCL_LIBRARY", "libnccl.so.2") {
    find_functions();
    check_version();
    find_driver();
}

void Library::find_functions() {
#define TUTTI_NCCL_FIND(member, symbol, ...) \
    member = reinterpret_cast<decltype(member)>(loaded_.find(#symbol));
#define TUTTI_NCCL_LOOK(member, symbol, ...) \
    member = reinterpret_cast<decltype(member)>(loaded_.look(#symbol));
    TUTTI_NCCL_FUNCTIONS(TUTTI_NCCL_FIND)
    TUTTI_NCCL_TEXTS(TUTTI_NCCL_FIND)
    TUTTI_NCCL_LATER_FUNCTIONS(TUTTI_NCCL_LOOK)
#undef TUTTI_NCCL_FIND
#undef TUTTI_NCCL_LOOK
}

void Library::check_version() {
    check(get_version(&version_), "ncclGetVersion");
    if (version_ >= oldest_version) return;
    throw Failure{TUTTI_ERR_UNSUPPORTED, 0,
                  loaded_.path() + " is too old: it is NCCL " + text_of(version_) +
                      ", and tutti needs " + text_of(oldest_version) + " or later"};
}

void Library::find_driver() {
    try {
        driver_ = &cuda::Library::get();
    } catch (Failure& failure) {
        failure.message = "NCCL " + text_of(version_) + " is here, and " + failure.message;
        throw;
    }
}

void Library::check(Result result, const char* function, Comm comm) const {
    if (result != Result::Success && result != Result::InProgress) {
        throw failure_of(result, function, comm);
    }
}

Failure Library::failure_of(Result result, const char* function, Comm comm) const {
    const char* const text = error_string(result);
    const char* const more = last_error(comm);
    std::string message = std::string(function) + " failed: " + (text != nullptr ? text : "error");
    if (more != nullptr && *more != '\0') message += std::string(" (") + more + ")";
    return {status_of(result), static_cast<int>(result), message};
}

}  // namespace tutti::nccl
