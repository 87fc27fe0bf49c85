// Memory of a device that NCCL has made, by its address: the program's until it gives it back, and
// a communicator's as long as it is registered there. Any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

#include "library.hpp"

namespace tutti::nccl {

class Memory {
public:
    // The program's from now on. Throws Failure.
    static void* make(const Library& nccl, int device, size_t bytes);
    // Null: the program has none there.
    static std::shared_ptr<Memory> find(void* address);
    // The program needs it no more. May wait until the device is idle.
    static void give_back(void* address) noexcept;

    // Waits until the device is idle.
    ~Memory();
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    [[nodiscard]] void* address() const { return address_; }
    [[nodiscard]] size_t bytes() const { return bytes_; }
    [[nodiscard]] int device() const { return device_; }
    [[nodiscard]] bool is_given_back() const { return is_given_back_; }

private:
    Memory(const Library& nccl, int device, size_t bytes);

    const Library& nccl_;
    const int device_;
    const size_t bytes_;
    void* address_ = nullptr;
    cuda::DevicePointer idle_mark_ = 0;
    std::atomic<bool> is_given_back_{false};
};

// Memory that a communicator knows.
struct Window {
    std::shared_ptr<Memory> memory;
    // NCCL may write it after it has returned. Null: it does not know the memory.
    WindowHandle handle = nullptr;
    void* local_handle = nullptr;  // of ncclCommRegister, in the place of that
};

}  // namespace tutti::nccl
