// tutti_object_options as the engine's settings. Any thread.
#pragma once

#include <optional>

#include "group.hpp"
#include "object/settings.hpp"
#include "options.hpp"
#include "tutti/object.h"

namespace tutti::capi {

namespace settings_detail {

inline void set(int64_t given, int64_t highest, const char* argument, size_t& setting) {
    if (given < 0 || given > highest) {
        refuse(argument, " is ", given, "; it must be from 0 (the default) to ", highest);
    }
    if (given != 0) setting = static_cast<size_t>(given);
}

inline std::optional<int> read_level(int level) {
    if (level < object_limits::lowest_compression_level ||
        level > object_limits::highest_compression_level) {
        refuse("options.compression_level is ", level, "; it must be from ",
               object_limits::lowest_compression_level, " to ",
               object_limits::highest_compression_level);
    }
    return level == 0 ? std::nullopt : std::optional(level);
}

}  // namespace settings_detail

// `compress` is what TUTTI_OBJECT_COMPRESS_DEFAULT means to this call.
inline ObjectSettings read_settings(const tutti_object_options* given, bool compress) {
    const tutti_object_options options = read_options(given);
    if ((options.flags & ~TUTTI_OBJECT_BORROW) != 0) {
        refuse("options.flags is ", options.flags, "; it must be 0 or TUTTI_OBJECT_BORROW (1)");
    }
    if (options.compress > TUTTI_OBJECT_COMPRESS_IF_IT_PAYS) {
        refuse("options.compress is ", options.compress, "; it must be from 0 to ",
               int{TUTTI_OBJECT_COMPRESS_IF_IT_PAYS});
    }
    if (options.compress != TUTTI_OBJECT_COMPRESS_DEFAULT) {
        compress = options.compress == TUTTI_OBJECT_COMPRESS_IF_IT_PAYS;
    }
    using settings_detail::set;
    ObjectSettings settings =
        environment_settings(compress, settings_detail::read_level(options.compression_level));
    set(options.max_bytes, INT64_MAX, "options.max_bytes", settings.message_bytes);
    set(options.max_decompressed_bytes, INT64_MAX, "options.max_decompressed_bytes",
        settings.decompressed_bytes);
    set(options.max_values, object_limits::nodes, "options.max_values", settings.values);
    set(options.max_depth, INT32_MAX, "options.max_depth", settings.depth);
    set(options.compression_threshold, INT64_MAX, "options.compression_threshold",
        settings.threshold);
    return settings;
}

// For a call between ranks of the group.
inline ObjectSettings read_settings(const Group& group, const tutti_object_options* given) {
    ObjectSettings settings = read_settings(given, true);
    settings.same_memory = group.same_memory();
    return settings;
}

}  // namespace tutti::capi
