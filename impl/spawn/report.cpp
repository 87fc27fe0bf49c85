// Shared memory without a name, and a futex in it. Parent and children.
#include "report.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <new>

#include "base/resource_limits.hpp"
#include "progress/futex.hpp"

namespace tutti::spawn {

namespace {

constexpr auto processes = futex::Scope::Shared;

}  // namespace

void Report::write(const Status& status) noexcept {
    code = status.code;
    system_errno = status.system_errno;
    const size_t length = std::min(status.message.size(), message.size() - 1);
    std::memcpy(message.data(), status.message.data(), length);
    message[length] = '\0';
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    time_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
    returned = true;
}

Status Report::read() const {
    return {code, -1, system_errno,
            std::string(message.data(), ::strnlen(message.data(), message.size()))};
}

SharedReports::SharedReports(int count)
    : size_(sizeof(Gate) + alignof(Report) + sizeof(Report) * static_cast<size_t>(count)),
      memory_(::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    if (memory_ == MAP_FAILED) {
        throw system_error(TUTTI_ERR_OUT_OF_MEMORY,
                           cat("no memory to share with ", count, " processes"), errno);
    }
    gate_ = new (memory_) Gate;
    constexpr size_t start = (sizeof(Gate) + alignof(Report) - 1) / alignof(Report);
    auto* place = static_cast<std::byte*>(memory_) + start * alignof(Report);
    reports_ = reinterpret_cast<Report*>(place);
    for (int rank = 0; rank < count; ++rank) new (reports_ + rank) Report;
}

SharedReports::~SharedReports() {
    ::munmap(memory_, size_);
}

void SharedReports::open_gate(int number) noexcept {
    gate_->number = number;
    futex::wake_all(gate_->number, processes);
}

int SharedReports::wait_at_gate() noexcept {
    while (gate_->number == 0) futex::wait(gate_->number, 0, processes);
    return gate_->number;
}

}  // namespace tutti::spawn
