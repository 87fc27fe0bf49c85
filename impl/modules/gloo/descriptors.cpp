#include "descriptors.hpp"

#include <atomic>
#include <cerrno>

namespace tutti::gloo_module {

namespace {

std::atomic<const tutti_backend_host*> the_host{nullptr};

void begin_opening(int32_t begins) {
    const tutti_backend_host* const host = the_host;
    if (host != nullptr) host->opening(begins);
}

}  // namespace

void set_host(const tutti_backend_host& host) {
    the_host = &host;
}

Opening::Opening() {
    begin_opening(1);
}

Opening::~Opening() {
    const int number = errno;
    begin_opening(0);
    errno = number;
}

int Opening::opened(int descriptor) const {
    const int number = errno;
    const tutti_backend_host* const host = the_host;
    if (descriptor >= 0 && host != nullptr) host->opened(descriptor);
    errno = number;
    return descriptor;
}

}  // namespace tutti::gloo_module
