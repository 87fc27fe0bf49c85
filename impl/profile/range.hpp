// A call of the program's, as a range of this thread in the profiler, if one is there. Ranges of a
// thread are nested. Any thread, the same at both ends.
#pragma once

#include <string>
#include <utility>

#include "tool.hpp"

namespace tutti::profile {

class Range {
public:
    // make_text() returns a std::string, and is called only if there is a profiler.
    template <typename MakeText>
    explicit Range(MakeText&& make_text) noexcept {
        if (tool.load(std::memory_order_relaxed) == nullptr) [[likely]]
            return;
        try {
            open(std::forward<MakeText>(make_text)());
        } catch (...) {  // without a text there is no range
        }
    }
    ~Range() {
        if (is_open_) [[unlikely]]
            close();
    }
    Range(const Range&) = delete;
    Range& operator=(const Range&) = delete;

private:
    void open(const std::string& text) noexcept;
    static void close() noexcept;

    bool is_open_ = false;
};

}  // namespace tutti::profile
