// The resources of a group on one device: a stream for each direction, and memory of the CPU for
// the stages that are under way. Streams: any thread. Slots: in the group's turns, one call at a
// time.
#pragma once

#include <array>
#include <vector>

#include "device/driver.hpp"
#include "device/pinned.hpp"
#include "plan.hpp"

namespace tutti::staged {

class Lane {
public:
    Lane(device::Driver& driver, int device)
        : driver_(driver),
          pool_(device::PinnedPool::of(driver)),
          device_(device),
          in_(driver.take_stream(device)),
          out_(driver.take_stream(device)) {}
    ~Lane() {
        driver_.give_stream(device_, in_);
        driver_.give_stream(device_, out_);
    }
    Lane(const Lane&) = delete;
    Lane& operator=(const Lane&) = delete;

    // Stages that can be under way.
    static constexpr size_t slots = 3;
    // Memory of at least that size, whose last use may still be under way.
    device::Pinned& slot(size_t index, size_t bytes);
    // Memory for a message, or for a call that is not cut: given back by its last holder.
    device::Pinned take(size_t bytes) { return pool_.take(device_, bytes); }

    // Enqueue copies after `before`, if given; passed when they are done.
    device::EventPointer copy_in(const std::vector<Copy>& copies,
                                 const device::EventPointer& before);
    device::EventPointer copy_out(const std::vector<Copy>& copies);
    // Returns when no copy is under way, or after a while: then the device is lost.
    void drain() noexcept;

    [[nodiscard]] device::Driver& driver() const { return driver_; }

private:
    template <typename Copying>
    device::EventPointer enqueue(void* stream, Copying&& copying);

    device::Driver& driver_;
    device::PinnedPool& pool_;
    const int device_;
    void* const in_;
    void* const out_;
    std::array<device::Pinned, slots> slots_;
};

}  // namespace tutti::staged
