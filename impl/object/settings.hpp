// Limits and compression of one call: what its options say, else the environment, else the
// defaults. Any thread.
#pragma once

#include <cstddef>
#include <optional>

#include "limits.hpp"

namespace tutti {

struct ObjectSettings {
    size_t message_bytes = object_limits::message_bytes;
    size_t decompressed_bytes = object_limits::decompressed_bytes;
    size_t values = object_limits::values;
    size_t depth = object_limits::depth;
    bool compress = false;          // if it pays
    std::optional<int> level = {};  // nothing: the default one
    // Only ranks of this host will read it. Where nobody gave a level, compressing is not to cost
    // more than it spares there.
    bool same_host = false;
    // They read it in memory that they share: compressing never pays there; who gives a level has
    // it.
    bool same_memory = false;
    size_t threshold = object_limits::compression_threshold;
};

// The defaults. `level`: what the call gives; without one TUTTI_OBJECT_COMPRESSION_LEVEL holds, and
// its 0 turns `compress` off. Throws INVALID_ARGUMENT naming a variable that is malformed.
ObjectSettings environment_settings(bool compress, std::optional<int> level = {});

}  // namespace tutti
