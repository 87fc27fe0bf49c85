// Memory that collectives need for a while. Some of what one gives back is kept for the next one:
// the system's fresh pages cost more than moving data through them. Any thread.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/mutex.hpp"

namespace tutti {

class Rooms {
public:
    // Keeps at most so many bytes.
    explicit Rooms(size_t most);
    Rooms(const Rooms&) = delete;
    Rooms& operator=(const Rooms&) = delete;

    struct GiveBack {
        Rooms* rooms = nullptr;
        size_t bytes = 0;  // all that there are
        void operator()(std::byte* room) const noexcept { rooms->give_back({room, bytes}); }
    };
    using Room = std::unique_ptr<std::byte[], GiveBack>;

    // At least so many bytes, with any content.
    Room take(size_t bytes);
    [[nodiscard]] size_t kept_bytes() const;

    // Shorter ones are not worth it.
    static constexpr size_t shortest = size_t{64} * 1024;

private:
    struct Kept {
        std::unique_ptr<std::byte[]> memory;
        size_t bytes;
    };
    void give_back(std::span<std::byte> room) noexcept;

    const size_t most_;
    mutable Mutex mutex_;
    std::vector<Kept> kept_ TUTTI_GUARDED_BY(mutex_);  // the last that came back is the last
    size_t kept_bytes_ TUTTI_GUARDED_BY(mutex_) = 0;
};

// The rooms of this process.
Rooms& rooms();

}  // namespace tutti
