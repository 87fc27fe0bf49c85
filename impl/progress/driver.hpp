// A source on which threads can sleep: the connections of a rank. Any thread.
#pragma once

#include <cstdint>

#include "base/deadline.hpp"
#include "event.hpp"
#include "source.hpp"

namespace tutti {

class Driver : public Source {
public:
    // How often a thread may look again before it lets others run.
    [[nodiscard]] virtual int spins() const noexcept = 0;
    // Around the sleep of a thread that waits: another one moves it meanwhile, at once.
    virtual void begin_sleeping() noexcept = 0;
    virtual void end_sleeping() noexcept = 0;
    // Event::wait(), in which everything moves.
    virtual bool wait(Event& event, uint32_t ticket, const Deadline& deadline) noexcept = 0;
};

}  // namespace tutti
