// The memory of all gradients of a reducer, on the CPU or on one device. A device works in two
// orders: that of the program's stream, on which gradients are computed, and that of the reducer's
// own, on which buckets are reduced. On the CPU nothing is left to wait for. Any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include "base/mutex.hpp"
#include "call/view.hpp"
#include "device/driver.hpp"
#include "device/pinned.hpp"
#include "group/group.hpp"
#include "shared_memory.hpp"

namespace tutti {

class Gradients {
public:
    // Throws UNSUPPORTED for a device that is not here, INVALID_ARGUMENT for a stream that is none
    // of its own.
    static void check(const Device& device, void* programs_stream);
    // Zeroed. All ranks make it, after check().
    Gradients(Group& group, const Device& device, size_t size, void* programs_stream);
    ~Gradients();
    Gradients(const Gradients&) = delete;
    Gradients& operator=(const Gradients&) = delete;

    // For a reducer that goes on in this group, in zeroed memory: on the CPU in another place, once
    // start_over() is called, while who reads in the old one finds zeros. All ranks make it.
    void make_next(Group& group);
    void start_over();

    [[nodiscard]] std::byte* data() const { return data_; }
    [[nodiscard]] const Device& device() const { return device_; }
    [[nodiscard]] bool is_on_device() const { return driver_ != nullptr; }
    // Whether the program goes on while its device works.
    [[nodiscard]] bool has_programs_stream() const { return programs_ != nullptr; }

    // In the program's order.
    void copy(const View& to, const View& from) const;
    void zero(const View& place) const;
    struct Move {
        size_t from, to, size;  // bytes of the memory
    };
    // All at once: none sees what another has moved.
    void move(const std::vector<Move>& moves, size_t size) const;
    // The present end of the program's order; null on the CPU.
    [[nodiscard]] device::EventPointer here() const;
    // The program's stream may be gone from now on; what it has by now may use the memory. Stops
    // giving. Only the first call counts.
    void leave() noexcept;
    // What comes later in the program's order waits for this. Null: for nothing.
    void hold(const device::EventPointer& end) const;

    // In the reducer's order, which goes on after `ready`. Null: at once.
    void go_on(const device::EventPointer& ready) const;
    void give(const View& to, const View& from) const;
    // The same to memory of the program's, until stop_giving(): once the program's stream has come
    // past that, nothing of the reducer's order writes there.
    void give_own(const View& to, const View& from);
    void stop_giving() noexcept;
    // Where it is; null on the CPU.
    [[nodiscard]] void* stream() const { return own_.get(); }
    // Its present end; null on the CPU.
    [[nodiscard]] device::EventPointer end() const;

    // Memory of the CPU that the device copies to and from. On a device.
    [[nodiscard]] device::Pinned take_pinned(size_t size) const;
    // Memory of the device beside the gradients, for one use at a time. On a device.
    void* beside(size_t size);

private:
    void copy_on(void* stream, const View& to, const View& from) const;
    void check_programs_stream() const;

    const Device device_;
    const size_t size_;
    void* const programs_;
    std::unique_ptr<SharedMemory> shared_, next_;
    std::vector<std::unique_ptr<SharedMemory>> before_;  // addresses alone
    std::shared_ptr<void> on_device_;
    std::byte* data_ = nullptr;
    device::Driver* driver_ = nullptr;
    std::shared_ptr<void> own_;  // a stream, given back with its last holder
    std::shared_ptr<void> beside_;
    size_t beside_size_ = 0;
    Mutex mutex_;
    bool gives_ TUTTI_GUARDED_BY(mutex_) = true;
    std::atomic<bool> has_left_{false};
    device::EventPointer programs_end_;
};

}  // namespace tutti
