// A source of progress moves only while a thread moves it: the connections of a rank, its messages,
// the calls of a polled backend. A thread that waits for it moves it meanwhile. Any thread, which
// holds no lock.
#pragma once

namespace tutti {

class Source {
public:
    virtual ~Source() = default;
    Source(const Source&) = delete;
    Source& operator=(const Source&) = delete;

    // Moves what can be moved now, without waiting; true if anything was. Ends works.
    virtual bool advance() noexcept = 0;
    // Between the two a thread calls advance() again and again, and nobody else needs to.
    virtual void begin_waiting() noexcept {}
    virtual void end_waiting() noexcept {}
    // Some thread waits, and does not move it: the background begins now.
    virtual void hurry() noexcept {}

protected:
    Source() = default;
};

// A thread that waits while this lives, for a source if there is one.
class Waiter {
public:
    explicit Waiter(Source* source) noexcept : source_(source) {
        if (source_ != nullptr) source_->begin_waiting();
    }
    ~Waiter() {
        if (source_ != nullptr) source_->end_waiting();
    }
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;

private:
    Source* const source_;
};

}  // namespace tutti
