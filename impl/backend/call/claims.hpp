// Which memory a call, or several, write and read: finds what overlaps. One thread at a time.
#pragma once

#include <cstdint>
#include <map>

#include "view.hpp"

namespace tutti {

class Claims {
public:
    // Whether what is written or read here would be written by others, or written here and read by
    // others.
    [[nodiscard]] bool may_write(const ConstView& view) const {
        return !hits(written_, view) && !hits(read_, view);
    }
    [[nodiscard]] bool may_read(const ConstView& view) const { return !hits(written_, view); }
    void write(const ConstView& view) { add(written_, view); }
    void read(const ConstView& view) { add(read_, view); }

private:
    // Ranges that do not touch each other, from begin to end.
    using Ranges = std::map<uintptr_t, uintptr_t>;
    static bool hits(const Ranges& ranges, const ConstView& view);
    static void add(Ranges& ranges, const ConstView& view);

    Ranges written_;
    Ranges read_;
};

}  // namespace tutti
