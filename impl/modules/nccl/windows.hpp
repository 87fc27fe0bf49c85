// The memory that a communicator knows, in the order in which all ranks registered it, and its last
// use on a stream. One thread at a time, with the lock of the communicator.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "library.hpp"
#include "memory.hpp"

namespace tutti::nccl {

// The way in which NCCL gets to know memory; of two ranks the lesser counts.
enum class Registration : char { None, Local, Window };

using WindowList = std::vector<std::shared_ptr<Window>>;

class Windows {
public:
    Windows(const Library& nccl, bool are_wanted) : nccl_(nccl), are_wanted_(are_wanted) {}

    // The best that this NCCL can do.
    [[nodiscard]] Registration best() const;
    // The same for memory of that size: NCCL 2.27 has an address space that is used up.
    [[nodiscard]] Registration best_for(const Memory& memory) const;

    [[nodiscard]] const WindowList& all() const { return all_; }
    [[nodiscard]] bool empty() const { return all_.empty(); }
    // Adds one, and takes out those that are not used any more.
    void add(const std::shared_ptr<Window>& window, const WindowList& unused);
    [[nodiscard]] WindowList take_all() { return std::exchange(all_, {}); }

    // The last call that may use them is on this stream now. A graph's calls have ended before the
    // group does. Throws Failure.
    void note_use(Stream stream, int device);
    [[nodiscard]] bool are_in_use() const;
    // Whether note_use() has made something on the device; end() takes it away, in the context.
    [[nodiscard]] bool have_event() const { return last_use_ != nullptr; }
    void end() noexcept;

private:
    const Library& nccl_;
    const bool are_wanted_;
    WindowList all_;
    size_t registered_bytes_ = 0;     // so far
    cuda::Event last_use_ = nullptr;  // the end of the last call that was issued beside windows
};

// Registers the memory on this rank; the others do the same.
Result register_window(const Library& nccl, Comm comm, Registration how, Window& window);
// No call that is on a stream uses them.
void deregister(const Library& nccl, Comm comm, const WindowList& windows) noexcept;
// Frees the memory in the background: that may wait for all that the device does.
void free_later(WindowList windows) noexcept;

}  // namespace tutti::nccl
