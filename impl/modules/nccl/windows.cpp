#include "windows.hpp"

#include <algorithm>
#include <utility>

#include "detached.hpp"

namespace tutti::nccl {

namespace {

// NCCL 2.27 never uses a place in its address space again, which has room for a device's memory,
// and ends the communicator when that is used up.
constexpr size_t max_bytes_in_2_27 = size_t{16} << 30;
constexpr size_t granularity_in_2_27 = size_t{512} << 20;

size_t size_in_2_27(size_t bytes) {
    return (bytes / granularity_in_2_27 + 1) * granularity_in_2_27;
}

}  // namespace

Registration Windows::best() const {
    const bool has_memory = nccl_.mem_alloc != nullptr && nccl_.mem_free != nullptr;
    if (!are_wanted_ || !has_memory) return Registration::None;
    if (nccl_.window_register != nullptr && nccl_.window_deregister != nullptr) {
        return Registration::Window;
    }
    const bool has_local = nccl_.comm_register != nullptr && nccl_.comm_deregister != nullptr;
    return has_local ? Registration::Local : Registration::None;
}

Registration Windows::best_for(const Memory& memory) const {
    const bool fits = nccl_.version() >= 22800 ||
                      registered_bytes_ + size_in_2_27(memory.bytes()) <= max_bytes_in_2_27;
    const Registration how = best();
    return how == Registration::Window && !fits ? Registration::None : how;
}

void Windows::add(const std::shared_ptr<Window>& window, const WindowList& unused) {
    std::erase_if(all_, [&](const auto& one) { return std::ranges::count(unused, one) != 0; });
    all_.push_back(window);
    registered_bytes_ += size_in_2_27(window->memory->bytes());
}

void Windows::note_use(Stream stream, int device) {
    const cuda::InContext context(nccl_.driver(), device);
    cuda::CaptureStatus status{};
    nccl_.driver().check(nccl_.driver().stream_is_capturing(stream, &status),
                         "cuStreamIsCapturing");
    if (status != cuda::CaptureStatus::None) return;
    if (last_use_ == nullptr) {
        nccl_.driver().check(nccl_.driver().event_create(&last_use_, cuda::event_disable_timing),
                             "cuEventCreate");
    }
    nccl_.driver().check(nccl_.driver().event_record(last_use_, stream), "cuEventRecord");
}

bool Windows::are_in_use() const {
    return last_use_ != nullptr && nccl_.driver().event_query(last_use_) == cuda::Result::NotReady;
}

void Windows::end() noexcept {
    if (last_use_ != nullptr) nccl_.driver().event_destroy(last_use_);
    last_use_ = nullptr;
}

Result register_window(const Library& nccl, Comm comm, Registration how, Window& window) {
    const Memory& memory = *window.memory;
    if (how == Registration::Local) {
        return nccl.comm_register(comm, memory.address(), memory.bytes(), &window.local_handle);
    }
    return nccl.window_register(comm, memory.address(), memory.bytes(), &window.handle,
                                window_symmetric);
}

void deregister(const Library& nccl, Comm comm, const WindowList& windows) noexcept {
    for (const auto& window : windows) {
        if (window->handle != nullptr) nccl.window_deregister(comm, window->handle);
        if (window->local_handle != nullptr) nccl.comm_deregister(comm, window->local_handle);
        window->handle = nullptr;
        window->local_handle = nullptr;
    }
}

void free_later(WindowList windows) noexcept {
    if (windows.empty()) return;
    start_detached([windows = std::move(windows)] {});
}

}  // namespace tutti::nccl
