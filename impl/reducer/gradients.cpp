#include "gradients.hpp"

#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "device/waiting.hpp"
#include "device/watcher.hpp"

namespace tutti {

void Gradients::check(const Device& device, void* programs_stream) {
    if (device.type == TUTTI_CPU) {
        if (programs_stream == nullptr) return;
        refuse("options.stream is given, and the parameters are on the CPU");
    }
    device::Driver& driver = device::Driver::of(device.type);
    driver.check_device(device.index, {"parameters", 0, "device_index"});
    driver.check_stream(device.index, programs_stream, "options.stream");
}

Gradients::Gradients(Group& group, const Device& device, size_t size, void* programs_stream)
    : device_(device), size_(size), programs_(programs_stream) {
    if (device.type == TUTTI_CPU) {
        shared_ = std::make_unique<SharedMemory>(group, size);
        data_ = shared_->data();
        return;
    }
    device::Driver& driver = device::Driver::of(device.type);
    device::Watcher::of_process().start_thread();  // the end must not fail for it
    on_device_ = driver.alloc(device.index, size);
    data_ = static_cast<std::byte*>(on_device_.get());
    own_ = {driver.take_stream(device.index),
            [&driver, index = device.index](void* stream) { driver.give_stream(index, stream); }};
    driver_ = &driver;
}

Gradients::~Gradients() {
    if (driver_ == nullptr) return;
    try {
        using InUse = std::vector<std::shared_ptr<void>>;
        const auto used = std::make_shared<const InUse>(InUse{on_device_, beside_, own_});
        device::Watcher& watcher = device::Watcher::of_process();
        watcher.keep(end(), used);
        if (programs_end_) watcher.keep(programs_end_, used);
    } catch (const std::exception&) {  // the device has failed, and does nothing more
    }
}

void Gradients::make_next(Group& group) {
    if (driver_ == nullptr) {
        shared_->give_up();
        next_ = std::make_unique<SharedMemory>(group, size_);
        return;
    }
    hold(end());
    zero({data_, static_cast<int64_t>(size_), TUTTI_UINT8, device_});
    if (!has_programs_stream()) device::wait_for(*here(), Deadline::never(), [] {});
}

void Gradients::start_over() {
    if (driver_ == nullptr) {
        before_.push_back(std::exchange(shared_, std::move(next_)));
        data_ = shared_->data();
        return;
    }
    const Lock lock(mutex_);
    gives_ = true;
}

void Gradients::leave() noexcept {
    if (has_left_.exchange(true)) return;
    stop_giving();
    try {
        programs_end_ = here();
    } catch (const std::exception&) {  // the device has failed, or the stream is gone
    }
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
    } catch (const std::exception&) {  // the device has failed, or the stream is gone
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
    device::Watcher::of_process().keep(here(), copied);
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
        if (beside_) device::Watcher::of_process().keep(end(), beside_);
        beside_ = driver_->alloc(device_.index, size);
        beside_size_ = size;
    }
    return beside_.get();
}

}  // namespace tutti
