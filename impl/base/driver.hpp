// Moves only while a thread moves it, such as the connections of a rank. A thread that waits
// for it moves it meanwhile, or makes sure that another one does. Any thread.
#pragma once

#include <cstdint>

#include "deadline.hpp"
#include "event.hpp"

namespace tutti {

class Driver {
public:
    virtual ~Driver() = default;
    Driver(const Driver&) = delete;
    Driver& operator=(const Driver&) = delete;

    // Moves what can be moved now, without waiting; true if anything was.
    virtual bool advance() noexcept = 0;
    // How often a thread may look again before it lets others run.
    [[nodiscard]] virtual int spins() const noexcept = 0;
    // Between the two a thread calls advance() again and again, and nobody else needs to.
    virtual void enter() noexcept = 0;
    virtual void leave() noexcept = 0;
    // The same around the sleep of a thread that waits: another one moves it meanwhile, at once.
    virtual void leave_to_sleep() noexcept = 0;
    virtual void enter_from_sleep() noexcept = 0;
    // Some thread waits, and does not move it: another one does so now.
    virtual void hurry() noexcept = 0;
    // Event::wait(), in which everything moves.
    virtual bool wait(Event& event, uint32_t ticket, const Deadline& deadline) noexcept = 0;

protected:
    Driver() = default;
};

// enter() and leave() of a driver, if there is one.
class Driving {
public:
    explicit Driving(Driver* driver) noexcept : driver_(driver) {
        if (driver_ != nullptr) driver_->enter();
    }
    ~Driving() {
        if (driver_ != nullptr) driver_->leave();
    }
    Driving(const Driving&) = delete;
    Driving& operator=(const Driving&) = delete;

private:
    Driver* const driver_;
};

}  // namespace tutti
