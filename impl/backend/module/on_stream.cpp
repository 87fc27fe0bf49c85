#include "on_stream.hpp"

#include <utility>

#include "base/error.hpp"

namespace tutti::ext {

OnStream::~OnStream() {
    const Lock lock(mutex_);
    if (stream_ != nullptr) driver_->give_stream(device_, stream_);
}

device::EventPointer OnStream::begin(const Device& device, void* stream) {
    device::Driver& driver = device::Driver::of(device.type);
    driver.check_device(device.index, "device_index");
    {
        const Lock lock(mutex_);
        if (driver_ == nullptr) {
            stream_ = driver.take_stream(device.index);
            device_ = device.index;
            driver_ = &driver;
        } else if (driver_ != &driver || device_ != device.index) {
            refuse("device_index is ", device.index, ", and the calls of this group are on ",
                   driver_->name(device_), ", where the first was");
        }
    }
    return driver.record_for_caller(device.index, stream, "options.stream");
}

void* OnStream::stream(const PostedCall& call) {
    const Lock lock(mutex_);
    if (stream_ == nullptr) throw Error(TUTTI_ERR_INTERNAL, "the call is on no device");
    if (call.begun()) call.begun()->precede(stream_);
    return stream_;
}

void OnStream::enqueued(const std::shared_ptr<PostedCall>& call) {
    const Lock lock(mutex_);
    endings_.push_back({call, driver_->record(device_, stream_)});
    call->work()->enqueued(endings_.back().end);
}

size_t OnStream::size() const {
    const Lock lock(mutex_);
    return endings_.size();
}

bool OnStream::look(const std::function<void(PostedCall&)>& ends) {
    for (bool moved = false;; moved = true) {
        std::shared_ptr<PostedCall> ended;
        {
            const Lock lock(mutex_);
            if (endings_.empty() || !endings_.front().end->passed()) return moved;
            ended = std::move(endings_.front().call);
            endings_.pop_front();
        }
        ends(*ended);
    }
}

void OnStream::give_up() noexcept {
    const Lock lock(mutex_);
    endings_.clear();
    stream_ = nullptr;
}

}  // namespace tutti::ext
