#include "side_calls.hpp"

#include <cstring>
#include <utility>

namespace tutti {

template <typename Make>
void SideCalls::run(const View& numbers, Make&& make) const {
    Group& group = *model_.group;
    if (group.backends().name_for(TUTTI_CPU) != nullptr) return group.run(make(numbers), 0);
    device::Pinned pinned = memory_.take_pinned(numbers.size());
    const View copied{pinned.data(), numbers.count, numbers.dtype};
    const View on_device{memory_.beside(numbers.size()), numbers.count, numbers.dtype,
                         memory_.device()};
    std::memcpy(copied.data, numbers.data, numbers.size());
    memory_.give(on_device, copied);
    pinned.used_until(memory_.end());
    auto call = group.start(make(on_device), {0, memory_.stream()});
    hold(*call, memory_.stream());
    memory_.give(copied, on_device);
    pinned.used_until(memory_.end());
    waits_.await({pinned.last_use(), {std::move(call)}});
    std::memcpy(numbers.data, copied.data, numbers.size());
}

void SideCalls::max(const View& numbers) const {
    run(numbers, [](const View& on) { return AllReduce{on, on, TUTTI_MAX}; });
}

void SideCalls::broadcast(const View& numbers) const {
    run(numbers, [](const View& on) { return Broadcast{on, 0}; });
}

}  // namespace tutti
