// A file descriptor that closes itself, in a child of fork, too. Any thread.
#pragma once

#include <unistd.h>

#include <utility>

#include "base/open_descriptors.hpp"

namespace tutti::net {

class Descriptor {
public:
    Descriptor() = default;
    explicit Descriptor(int number) : number_(number) { track_open(number); }
    Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        if (this != &other) {
            reset();
            number_ = other.release();
        }
        return *this;
    }
    ~Descriptor() { reset(); }

    [[nodiscard]] int get() const { return number_; }
    [[nodiscard]] bool valid() const { return number_ >= 0; }
    // To another owner within tutti.
    [[nodiscard]] int release() { return std::exchange(number_, -1); }
    void reset() {
        if (number_ < 0) return;
        close_tracked(std::exchange(number_, -1));
    }

private:
    int number_ = -1;
};

}  // namespace tutti::net
