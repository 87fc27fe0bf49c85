// The place of the sums of a host's ranks until those of all hosts have come together. Any thread.
#pragma once

#include "base/block.hpp"
#include "call_context.hpp"

namespace tutti::hierarchy {

class Sums {
public:
    // For results in `output`: there, or of a partial reduction in memory of their own.
    Sums(const Reduction& inside, Bytes output)
        : room_(inside.is_partial ? inside.combined_size(output.size()) : 0),
          all_(inside.is_partial ? Bytes{room_.data(), room_.size()} : output) {}

    [[nodiscard]] Bytes all() const { return all_; }

private:
    Block room_;
    Bytes all_;
};

}  // namespace tutti::hierarchy
