// Shared memory without a name, and a futex in it. Parent and children.
#include "report.hpp"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstring>
#include <new>

#include "base/resource_limits.hpp"

namespace tutti::spawn {

namespace {

// Not the private futex of threads: the waiters are other processes.
long futex(std::atomic<int32_t>& word, int operation, int value) noexcept {
    return ::syscall(SYS_futex, &word, operation, value, nullptr, nullptr, 0);
}

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
    futex(gate_->number, FUTEX_WAKE, INT_MAX);
}

int SharedReports::wait_at_gate() noexcept {
    while (gate_->number == 0) futex(gate_->number, FUTEX_WAIT, 0);
    return gate_->number;
}

}  // namespace tutti::spawn
