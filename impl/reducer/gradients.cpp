#include "gradients.hpp"

#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "device/watcher.hpp"

namespace tutti {

void Gradients::check(const Device& device, void* programs_stream) {
    if (device.type == TUTTI_CPU) {
        if (programs_stream == nullptr) return;
        refuse("options.stream is given, and the parameters are on the CPU");
    }
    device::Driver& driver = device::Driver::of(device.type);
    driver.check_device(device.index, "parameters[0].device_index");
    driver.check_stream(device.index, programs_stream, "options.stream");
}

Gradients::Gradients(Group& group, const Device& device, size_t size, void* programs_stream)
    : device_(device), programs_(programs_stream) {
    if (device.type == TUTTI_CPU) {
        data_ = shared_.emplace(group, size).data();
        return;
    }
    device::Driver& driver = device::Driver::of(device.type);
    device::Watcher::of_process().start_thread();  // keep_until_done() must not fail for it
    on_device_ = driver.alloc(device.index, size);
    data_ = static_cast<std::byte*>(on_device_.get());
    own_ = {driver.take_stream(device.index),
            [&driver, index = device.index](void* stream) { driver.give_stream(index, stream); }};
    driver_ = &driver;
}

Gradients::~Gradients() {
    if (driver_ == nullptr) return;
    try {
        keep_until_done({on_device_, beside_, own_}, end(), std::move(programs_end_));
    } catch (const Error&) {  // the device has failed, and does nothing more
    }
}

void Gradients::leave() noexcept {
    if (has_left_.exchange(true)) return;
    stop_giving();
    try {
        programs_end_ = here();
    } catch (const Error&) {  // the device has failed, or the stream is gone
    }
}

void Gradients::keep_until_done(InUse things, const device::EventPointer& first,
                                device::EventPointer second) {
    device::Watcher::of_process().add(
        {first, [things = std::move(things), next = std::move(second)](const Status&) mutable {
             return std::exchange(next, nullptr);
         }});
}

void Gradients::copy_on(void* stream, const View& to, const View& from) const {
    if (to.count == 0 || to.data == from.data) return;
    if (driver_ == nullptr) {
        std::memcpy(to.data, from.data, to.size());
    } else {
        driver_->copy(device_.index, to.data, from.data, to.size(), stream);
    }
}

void Gradients::check_programs_stream() const {
    if (driver_ != nullptr) driver_->check_stream(device_.index, programs_, "options.stream");
}

void Gradients::copy(const View& to, const View& from) const {
    check_programs_stream();
    copy_on(programs_, to, from);
}

void Gradients::give(const View& to, const View& from) const {
    copy_on(own_.get(), to, from);
}

void Gradients::give_own(const View& to, const View& from) {
    const Lock lock(mutex_);
    if (gives_) give(to, from);
}

void Gradients::stop_giving() noexcept {
    const Lock lock(mutex_);
    if (!std::exchange(gives_, false)) return;
    try {
        hold(end());
    } catch (const Error&) {  // the device has failed, or the stream is gone
    }
}

void Gradients::zero(const View& place) const {
    if (place.count == 0) return;
    check_programs_stream();
    if (driver_ == nullptr) {
        std::memset(place.data, 0, place.size());
    } else {
        driver_->zero(device_.index, place.data, place.size(), programs_);
    }
}

void Gradients::move(const std::vector<Move>& moves, size_t size) const {
    if (driver_ == nullptr) {
        const std::vector<std::byte> before(data_, data_ + size);
        for (const Move& one : moves) {
            std::memcpy(data_ + one.to, before.data() + one.from, one.size);
        }
        return;
    }
    const std::shared_ptr<void> copied = driver_->alloc(device_.index, size);
    auto* const before = static_cast<std::byte*>(copied.get());
    driver_->copy(device_.index, before, data_, size, programs_);
    for (const Move& one : moves) {
        driver_->copy(device_.index, data_ + one.to, before + one.from, one.size, programs_);
    }
    keep_until_done({copied}, here());
}

device::EventPointer Gradients::here() const {
    if (driver_ == nullptr) return nullptr;
    return driver_->record_for_caller(device_.index, programs_, "options.stream");
}

void Gradients::hold(const device::EventPointer& end) const {
    if (end) end->hold(programs_);
}

void Gradients::go_on(const device::EventPointer& ready) const {
    if (ready) ready->precede(own_.get());
}

device::EventPointer Gradients::end() const {
    return driver_ == nullptr ? nullptr : driver_->record(device_.index, own_.get());
}

device::Pinned Gradients::take_pinned(size_t size) const {
    return device::PinnedPool::of(*driver_).take(device_.index, size);
}

// What is too small stays until the end, in use.
void* Gradients::beside(size_t size) {
    if (beside_size_ < size) {
        if (beside_) keep_until_done({beside_}, end());
        beside_ = driver_->alloc(device_.index, size);
        beside_size_ = size;
    }
    return beside_.get();
}

}  // namespace tutti
