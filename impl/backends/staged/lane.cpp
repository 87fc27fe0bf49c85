#include "lane.hpp"

#include "base/log.hpp"
#include "device/waiting.hpp"

namespace tutti::staged {

namespace {

// Copies that nothing holds up end much sooner.
constexpr int64_t drain_ms = 5000;

}  // namespace

device::Pinned& Lane::slot(size_t index, size_t bytes) {
    device::Pinned& slot = slots_[index % slots];
    if (slot.size() < bytes) slot = pool_.take(device_, bytes);
    return slot;
}

// Without the event nobody would know when copies that were enqueued are done.
template <typename Copying>
device::EventPointer Lane::enqueue(void* stream, Copying&& copying) {
    try {
        copying();
        return driver_.record(device_, stream);
    } catch (...) {
        drain();
        throw;
    }
}

device::EventPointer Lane::copy_in(const std::vector<Copy>& copies,
                                   const device::EventPointer& before) {
    return enqueue(in_, [&] {
        if (before) before->precede(in_);
        for (const Copy& one : copies) driver_.copy(device_, one.host, one.device, one.bytes, in_);
    });
}

device::EventPointer Lane::copy_out(const std::vector<Copy>& copies) {
    return enqueue(out_, [&] {
        for (const Copy& one : copies) driver_.copy(device_, one.device, one.host, one.bytes, out_);
    });
}

void Lane::drain() noexcept {
    try {
        const Deadline until = Deadline::after_ms(drain_ms);
        for (void* const stream : {in_, out_}) {
            device::wait_for(*driver_.record(device_, stream), until, [] {});
        }
    } catch (const Error& error) {
        log(LogLevel::Error, driver_.name(device_),
            " may still use memory of a failed call: ", error.what());
    }
}

}  // namespace tutti::staged
