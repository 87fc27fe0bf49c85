// The memory that one or several calls write and read; finds overlaps. One thread at a time.
#pragma once

#include <cstdint>
#include <map>

#include "base/bytes.hpp"

namespace tutti {

class OverlapCheck {
public:
    // Whether this memory may be written (no call writes or reads it), or read (no call writes it).
    [[nodiscard]] bool may_write(ConstBytes memory) const {
        return !hits(written_, memory) && !hits(read_, memory);
    }
    [[nodiscard]] bool may_read(ConstBytes memory) const { return !hits(written_, memory); }
    void write(ConstBytes memory) { add(written_, memory); }
    void read(ConstBytes memory) { add(read_, memory); }

private:
    // Ranges that do not touch each other, from begin to end.
    using Ranges = std::map<uintptr_t, uintptr_t>;
    static bool hits(const Ranges& ranges, ConstBytes memory);
    static void add(Ranges& ranges, ConstBytes memory);

    Ranges written_;
    Ranges read_;
};

}  // namespace tutti
