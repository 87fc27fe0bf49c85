#include "driver.hpp"

#include <atomic>
#include <memory>

#include "base/device.hpp"
#include "base/error.hpp"
#include "base/thread.hpp"
#include "module.hpp"
#include "waiting.hpp"

namespace tutti::device {

Event::Event(Driver& driver, int device, void* stream, bool is_callers)
    : driver_(driver), device_(device), event_(driver.take_event(device)) {
    try {
        if (is_callers) {
            Driver::ask_for_caller(driver_.table_.event_record, device, event_, stream);
        } else {
            Driver::ask(driver_.table_.event_record, device, event_, stream);
        }
    } catch (...) {
        driver_.give_event(device, event_);
        throw;
    }
}

Event::~Event() {
    driver_.give_event(device_, event_);
}

bool Event::passed() const {
    int32_t passed = 0;
    Driver::ask(driver_.table_.event_query, device_, event_, &passed);
    return passed != 0;
}

void Event::hold(void* stream) const {
    driver_.check_stream(device_, stream, "stream");
    precede(stream);
}

void Event::precede(void* stream) const {
    Driver::ask(driver_.table_.stream_wait_event, device_, stream, event_);
}

void* Unused::take(int device) {
    const Lock lock(mutex_);
    auto& unused = handles_[device];
    if (unused.empty()) return nullptr;
    void* const handle = unused.back();
    unused.pop_back();
    return handle;
}

bool Unused::keep(int device, void* handle) noexcept {
    constexpr size_t most = 256;
    const Lock lock(mutex_);
    try {
        auto& unused = handles_[device];
        if (unused.size() >= most) return false;
        unused.push_back(handle);
        return true;
    } catch (const std::bad_alloc&) {
        return false;
    }
}

// Never destroyed: a call may come at the very end of the process. One that could not be loaded is
// looked for again.
Driver& Driver::of(tutti_device_type type) {
    if (type != TUTTI_CUDA) {
        throw Error(TUTTI_ERR_UNSUPPORTED,
                    cat("this build has no devices of type ", device_type_name(type)));
    }
    static std::atomic<Driver*> cuda{nullptr};
    if (Driver* const loaded = cuda.load(std::memory_order_acquire)) return *loaded;
    static Mutex loading;
    const Lock lock(loading);
    if (cuda.load(std::memory_order_relaxed) == nullptr) {
        cuda.store(new Driver(TUTTI_CUDA, find_module(TUTTI_CUDA)), std::memory_order_release);
    }
    return *cuda.load(std::memory_order_relaxed);
}

void Driver::check_here(tutti_device_type type, const Argument& argument) {
    tutti::check_device_type(type, argument);
    if (type == TUTTI_CPU) return;
    try {
        of(type);
    } catch (const Error& error) {
        Status status = error.status();
        status.message =
            cat(argument.text(), " is ", type, " (", device_type_name(type), "): ", status.message);
        throw Error(std::move(status));
    }
}

void Driver::check_here(tutti_device_type type, int device, const Argument& owner) {
    tutti::check_device(type, device, owner);
    check_here(type, owner.at("device_type"));
    if (type != TUTTI_CPU) of(type).check_device(device, owner.at("device_index"));
}

Driver::Driver(tutti_device_type type, const tutti_device_table& table)
    : type_(type), table_(table) {
    int32_t devices = 0;
    ask(table_.count, &devices);
    count_ = devices;
}

std::string Driver::name(int device) const {
    return cat(device_type_name(type_), ":", device);
}

// Whatever the call was about, it is a device of this process that failed.
void Driver::fail(tutti_status status, const tutti_device_failure& failure) {
    throw Error(Status{status, -1, 0, failure.message, true});
}

void Driver::check_device(int device, const Argument& argument) const {
    if (device >= 0 && device < count_) return;
    refuse(argument.text(), " is ", device, ", and this process has ", count_, " devices of type ",
           device_type_name(type_));
}

void Driver::check_memory(int device, const void* memory, const Argument& argument) const {
    int32_t place = -1;
    ask(table_.device_of, memory, &place);
    if (place == device) return;
    if (place < 0) refuse(argument.text(), " is not memory of ", name(device));
    refuse(argument.text(), " is memory of ", name(place), ", not of ", name(device));
}

template <typename Ask>
void Driver::ask_of_stream(int device, void* stream, const char* argument, Ask&& ask) const {
    try {
        ask();
    } catch (const Error& error) {
        const Status& status = error.status();
        if (status.code != TUTTI_ERR_INVALID_ARGUMENT || stream == nullptr) throw;
        refuse(argument, " is no stream of ", name(device), ": ", status.message);
    }
}

bool Driver::is_captured(int device, void* stream, const char* argument) const {
    int32_t capturing = 0;
    ask_of_stream(device, stream, argument,
                  [&] { ask_for_caller(table_.stream_is_capturing, device, stream, &capturing); });
    return capturing != 0;
}

void Driver::check_stream(int device, void* stream, const char* argument) const {
    if (!is_captured(device, stream, argument)) return;
    throw Error(TUTTI_ERR_UNSUPPORTED,
                cat(argument, " is being captured into a graph, and this operation needs the CPU"));
}

EventPointer Driver::record_for_caller(int device, void* stream, const char* argument) {
    check_stream(device, stream, argument);
    EventPointer event;
    ask_of_stream(device, stream, argument,
                  [&] { event = std::make_shared<const Event>(*this, device, stream, true); });
    return event;
}

EventPointer Driver::record(int device, void* stream) {
    return std::make_shared<const Event>(*this, device, stream);
}

void* Driver::take_event(int device) {
    if (void* const event = events_.take(device)) return event;
    void* event = nullptr;
    ask(table_.event_create, device, &event);
    return event;
}

void Driver::give_event(int device, void* event) noexcept {
    if (events_.keep(device, event)) return;
    tutti_device_failure failure;
    table_.event_destroy(device, event, &failure);
}

void* Driver::take_stream(int device, bool high_priority) {
    Unused& unused = high_priority ? high_priority_streams_ : streams_;
    if (void* const stream = unused.take(device)) return stream;
    void* stream = nullptr;
    ask(table_.stream_create, device, high_priority ? 1 : 0, &stream);
    return stream;
}

void Driver::give_stream(int device, void* stream, bool high_priority) noexcept {
    Unused& unused = high_priority ? high_priority_streams_ : streams_;
    if (is_idle(device, stream) && unused.keep(device, stream)) return;
    tutti_device_failure failure;
    table_.stream_destroy(device, stream, &failure);  // what is on it still ends
}

bool Driver::is_idle(int device, void* stream) noexcept {
    try {
        return record(device, stream)->passed();
    } catch (const Error&) {
        return false;
    }
}

void Driver::copy(int device, void* to, const void* from, size_t bytes, void* stream) {
    if (bytes > 0) ask(table_.copy, device, to, from, bytes, stream);
}

void Driver::zero(int device, void* memory, size_t bytes, void* stream) {
    if (bytes > 0) ask(table_.zero, device, memory, bytes, stream);
}

void* Driver::alloc_host(int device, size_t bytes) {
    void* memory = nullptr;
    ask(table_.host_alloc, device, bytes, &memory);
    return memory;
}

void Driver::free_later(const Freed& one) noexcept {
    const Lock lock(mutex_);
    try {
        freed_.push_back(one);
        if (!frees_) start_thread("tutti-free", [this] { free_all(); }).detach();
        frees_ = true;
        changed_.notify_one();
    } catch (...) {  // without memory or a thread it stays allocated, until the next
    }
}

void Driver::free_all() noexcept {
    std::vector<Freed> freed;
    for (;;) {
        {
            Lock lock(mutex_);
            while (freed_.empty()) changed_.wait(lock);
            freed.swap(freed_);
        }
        tutti_device_failure failure;
        for (const Freed& one : freed) {
            if (one.free != nullptr) {
                one.free(one.device, one.memory, &failure);
            } else {
                one.free_others(one.user, one.memory);
            }
        }
        freed.clear();
    }
}

std::shared_ptr<void> Driver::alloc(int device, size_t bytes) {
    void* memory = nullptr;
    const size_t size = bytes == 0 ? 1 : bytes;
    ask(table_.alloc, device, size, &memory);
    const auto free = [this, device](void* place) { free_later(table_.free, device, place); };
    return zeroed(device, std::shared_ptr<void>(memory, free), size);
}

std::shared_ptr<void> Driver::zeroed(int device, std::shared_ptr<void> memory, size_t bytes) {
    void* const stream = take_stream(device);  // the default one may wait for others
    const std::shared_ptr<void> taken(stream,
                                      [this, device](void* one) { give_stream(device, one); });
    zero(device, memory.get(), bytes, stream);
    try {
        wait_for(*record(device, stream), Deadline::never(), [] {});
    } catch (...) {  // nobody knows when it is free, and it stays
        const Lock lock(mutex_);
        kept_.push_back(std::move(memory));
        throw;
    }
    return memory;
}

}  // namespace tutti::device
