// The devices of one kind, by the table of their module, which is loaded when the first call for
// them comes, and stays. Failures are thrown. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/argument.hpp"
#include "base/mutex.hpp"
#include "table.h"
#include "work/stream_event.hpp"

namespace tutti::device {

class Driver;

// Recorded on a stream when it is made; passed once all that was on the stream then is done.
class Event final : public StreamEvent {
public:
    // `is_callers`: what is wrong with the stream is an argument's fault.
    Event(Driver& driver, int device, void* stream, bool is_callers = false);
    ~Event() override;

    // Whether the device is past it. It stays so.
    [[nodiscard]] bool passed() const;
    // Throws INVALID_ARGUMENT for what is no stream of the device, UNSUPPORTED for one that is
    // being captured.
    void hold(void* stream) const override;
    // The same of a stream that is known to be one.
    void precede(void* stream) const;

private:
    Driver& driver_;
    const int device_;
    void* const event_;
};
using EventPointer = std::shared_ptr<const Event>;

// Handles of the driver that nobody uses, by device: making one takes long. Any thread.
class Unused {
public:
    // Null: there is none.
    void* take(int device);
    // False: there are enough.
    bool keep(int device, void* handle) noexcept;

private:
    Mutex mutex_;
    std::map<int, std::vector<void*>> handles_ TUTTI_GUARDED_BY(mutex_);
};

class Driver {
public:
    // Throws UNSUPPORTED, saying what is missing.
    static Driver& of(tutti_device_type type);
    // The same of a type or a device that an argument names; the CPU is always there.
    static void check_here(tutti_device_type type, const Argument& argument);
    static void check_here(tutti_device_type type, int device, const Argument& owner);

    Driver(tutti_device_type type, const tutti_device_table& table);
    Driver(const Driver&) = delete;
    Driver& operator=(const Driver&) = delete;

    [[nodiscard]] tutti_device_type type() const { return type_; }
    [[nodiscard]] int count() const { return count_; }
    // "cuda:0".
    [[nodiscard]] std::string name(int device) const;
    // Throw INVALID_ARGUMENT, naming the argument, unless there is such a device, and unless the
    // memory is on it.
    void check_device(int device, const Argument& argument) const;
    void check_memory(int device, const void* memory, const Argument& argument) const;

    // On a stream of the program. Throws INVALID_ARGUMENT for one of another device, UNSUPPORTED
    // for one that is being captured.
    EventPointer record_for_caller(int device, void* stream, const char* argument);
    // Throws as that does.
    void check_stream(int device, void* stream, const char* argument) const;
    // Whether a graph is made of what comes to the stream. Throws INVALID_ARGUMENT as that does.
    bool is_captured(int device, void* stream, const char* argument) const;
    // On a stream of our own.
    EventPointer record(int device, void* stream);

    // A stream of our own, which waits for no other by itself; given back, it serves the next, if
    // the device has done all that is on it.
    void* take_stream(int device, bool high_priority = false);
    void give_stream(int device, void* stream, bool high_priority = false) noexcept;
    void copy(int device, void* to, const void* from, size_t bytes, void* stream);
    void zero(int device, void* memory, size_t bytes, void* stream);

    void* alloc_host(int device, size_t bytes);
    // A driver frees memory only once the device is idle, so a thread of its own waits for that.
    void free_host(int device, void* memory) noexcept {
        free_later(table_.host_free, device, memory);
    }
    // The same thread frees what others have made, which may wait as well.
    using FreeOthers = void (*)(void* user, void* memory);
    void free_later(FreeOthers free, void* user, void* memory) noexcept {
        free_later({nullptr, 0, memory, free, user});
    }
    // Zeroed memory of a device, which goes with the last that holds it.
    std::shared_ptr<void> alloc(int device, size_t bytes);
    // Zeroes memory of a device that others have made, and returns it.
    std::shared_ptr<void> zeroed(int device, std::shared_ptr<void> memory, size_t bytes);

private:
    friend class Event;
    [[noreturn]] static void fail(tutti_status status, const tutti_device_failure& failure);
    // With something that the caller gave.
    template <typename... Parameters, typename... Arguments>
    static void ask_for_caller(tutti_status (*function)(Parameters...), Arguments... arguments) {
        tutti_device_failure failure;
        const tutti_status status = function(arguments..., &failure);
        if (status != TUTTI_OK) fail(status, failure);
    }
    // With what is ours, or was found right before.
    template <typename... Parameters, typename... Arguments>
    static void ask(tutti_status (*function)(Parameters...), Arguments... arguments) {
        tutti_device_failure failure;
        const tutti_status status = function(arguments..., &failure);
        if (status == TUTTI_ERR_INVALID_ARGUMENT) fail(TUTTI_ERR_BACKEND, failure);
        if (status != TUTTI_OK) fail(status, failure);
    }
    // A refusal names the argument.
    [[nodiscard]] bool is_idle(int device, void* stream) noexcept;
    template <typename Ask>
    void ask_of_stream(int device, void* stream, const char* argument, Ask&& ask) const;
    using Free = decltype(tutti_device_table::free);
    struct Freed {
        Free free;  // null: `free_others` does it
        int device;
        void* memory;
        FreeOthers free_others;
        void* user;
    };
    void free_later(Free free, int device, void* memory) noexcept {
        free_later({free, device, memory, nullptr, nullptr});
    }
    void free_later(const Freed& one) noexcept;
    [[noreturn]] void free_all() noexcept;

    void* take_event(int device);
    void give_event(int device, void* event) noexcept;

    const tutti_device_type type_;
    const tutti_device_table& table_;
    int count_ = 0;
    Unused events_;
    Unused streams_;
    Unused high_priority_streams_;
    Mutex mutex_;
    Condition changed_;
    bool frees_ TUTTI_GUARDED_BY(mutex_) = false;  // the thread runs
    std::vector<Freed> freed_ TUTTI_GUARDED_BY(mutex_);
    std::vector<std::shared_ptr<void>> kept_ TUTTI_GUARDED_BY(mutex_);  // for good
};

}  // namespace tutti::device
