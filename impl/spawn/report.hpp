// The report of a child to its parent when its function returns, in memory that both share. The
// child writes, the parent reads once the child has ended. Plain data: no locks, no pointers.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/status.hpp"

namespace tutti::spawn {

struct Report {
    std::atomic<bool> returned{false};  // the rest counts
    tutti_status code = TUTTI_OK;
    int system_errno = 0;
    int64_t time_ns = 0;  // of the monotonic clock
    std::array<char, 512> message{};

    void write(const Status& status) noexcept;
    [[nodiscard]] Status read() const;
};

// A page or more that children inherit, with a report for each and the gate they wait at.
class SharedReports {
public:
    explicit SharedReports(int count);
    ~SharedReports();
    SharedReports(const SharedReports&) = delete;
    SharedReports& operator=(const SharedReports&) = delete;

    Report& operator[](int rank) { return reports_[rank]; }
    // The parent lets the children go on, and tells them a number above 0.
    void open_gate(int number) noexcept;
    // A child waits for the number.
    int wait_at_gate() noexcept;

private:
    struct Gate {
        std::atomic<int32_t> number{0};
    };
    size_t size_;
    void* memory_;
    Gate* gate_;
    Report* reports_;
};

}  // namespace tutti::spawn
