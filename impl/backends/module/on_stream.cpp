#include "on_stream.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace tutti::ext {

namespace {

// A look costs no more when thousands of calls are on the stream.
constexpr size_t most_at_once = 32;

}  // namespace

OnStream::~OnStream() {
    const Lock lock(mutex_);
    if (stream_ != nullptr) driver_->give_stream(device_, stream_, high_priority_);
}

void OnStream::be_on(const Device& device) {
    device::Driver& driver = device::Driver::of(device.type);
    driver.check_device(device.index, {"device_index"});
    if (driver_ == nullptr) {
        stream_ = driver.take_stream(device.index, high_priority_);
        device_ = device.index;
        driver_ = &driver;
    } else if (driver_ != &driver || device_ != device.index) {
        refuse("device_index is ", device.index, ", and the calls of this group are on ",
               driver_->name(device_), ", where the first was");
    }
}

bool OnStream::take(const Device& device) {
    const Lock lock(mutex_);
    const bool is_another =
        driver_ != nullptr && (driver_->type() != device.type || device_ != device.index);
    if (!is_another) be_on(device);
    return !is_another;
}

device::EventPointer OnStream::begin(const Device& device, void* stream) {
    {
        const Lock lock(mutex_);
        be_on(device);
    }
    return device::Driver::of(device.type)
        .record_for_caller(device.index, stream, "options.stream");
}

FlatCall::Place OnStream::join(FlatCall& call, void* stream) {
    if (tutti_device_is_default_stream(stream)) return FlatCall::Place::Beside;
    const Lock lock(mutex_);
    be_on(call.device);
    if (!driver_->is_captured(device_, stream, "options.stream")) {
        call.begun = driver_->record(device_, stream);
        return FlatCall::Place::Joined;
    }
    const char* const captured = "options.stream is being captured into a graph, ";
    if (last_end_ == nullptr) {
        throw Error(TUTTI_ERR_UNSUPPORTED,
                    cat(captured, "and this group has had no call on the device before"));
    }
    if (call.kind == FlatCall::Kind::AllToAll && call.in_place) {
        throw Error(TUTTI_ERR_UNSUPPORTED,
                    cat(captured, "and an all_to_all in place needs memory beside its buffer"));
    }
    return FlatCall::Place::Captured;
}

void* OnStream::stream(const PostedCall& call) {
    const Lock lock(mutex_);
    if (stream_ == nullptr) throw Error(TUTTI_ERR_INTERNAL, "the call is on no device");
    if (call.call().place == FlatCall::Place::Captured) return call.call().stream;
    const bool is_joined = call.call().place == FlatCall::Place::Joined;
    if (call.begun() && !is_joined) call.begun()->precede(stream_);
    void* const its = is_joined ? call.call().stream : stream_;
    // A stream may have the handle of one that is gone, whose work goes on.
    const bool is_sure = last_stream_ == its && !call.call().in_place;
    if (last_end_ && !is_sure) last_end_->precede(its);
    return its;
}

void OnStream::enqueued(const std::shared_ptr<PostedCall>& call) {
    const Lock lock(mutex_);
    last_stream_ = call->call().place == FlatCall::Place::Joined ? call->call().stream : stream_;
    last_end_ = driver_->record(device_, last_stream_);
    endings_.push_back({call, last_end_});
    call->work()->enqueued(last_end_);
}

bool OnStream::all_ended() const {
    const Lock lock(mutex_);
    return endings_.empty() || endings_.back().end->passed();
}

size_t OnStream::size() const {
    const Lock lock(mutex_);
    return endings_.size();
}

// Few locks: the thread that posts needs them as well. Nobody else takes calls away meanwhile.
bool OnStream::look(const std::function<void(PostedCall&)>& ends) {
    std::vector<Ending> ended;
    {
        const Lock lock(mutex_);
        const size_t few = std::min(endings_.size(), most_at_once);
        ended.assign(endings_.begin(), endings_.begin() + static_cast<ptrdiff_t>(few));
    }
    size_t count = 0;
    try {
        while (count < ended.size() && ended[count].end->passed()) ++count;
    } catch (const Error&) {
        if (count == 0) throw;  // those before it have ended well
    }
    ended.resize(count);
    if (ended.empty()) return false;
    {
        const Lock lock(mutex_);
        count = std::min(count, endings_.size());  // given up: none is there
        endings_.erase(endings_.begin(), endings_.begin() + static_cast<ptrdiff_t>(count));
    }
    for (const Ending& one : ended) ends(*one.call);
    return true;
}

void OnStream::give_up() noexcept {
    const Lock lock(mutex_);
    endings_.clear();
    last_end_ = nullptr;
    stream_ = nullptr;
}

}  // namespace tutti::ext
