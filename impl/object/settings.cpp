#include "settings.hpp"

#include <cstdint>

#include "base/environment.hpp"

namespace tutti {

namespace {

void read(Variable variable, int64_t highest, size_t& setting) {
    if (const auto number = environment_number(variable, 1, highest)) {
        setting = static_cast<size_t>(*number);
    }
}

}  // namespace

ObjectSettings environment_settings(bool compress, std::optional<int> level) {
    ObjectSettings settings;
    read("TUTTI_OBJECT_MAX_BYTES", INT64_MAX, settings.message_bytes);
    read("TUTTI_OBJECT_MAX_DECOMPRESSED_BYTES", INT64_MAX, settings.decompressed_bytes);
    read("TUTTI_OBJECT_MAX_VALUES", object_limits::nodes, settings.values);
    read("TUTTI_OBJECT_MAX_DEPTH", INT32_MAX, settings.depth);
    read("TUTTI_OBJECT_COMPRESSION_THRESHOLD", INT64_MAX, settings.threshold);
    const auto usual_level = environment_number("TUTTI_OBJECT_COMPRESSION_LEVEL",
                                                object_limits::lowest_compression_level,
                                                object_limits::highest_compression_level);
    settings.compress = compress && (level || usual_level != 0);
    settings.level = level;
    if (!level && usual_level) settings.level = static_cast<int>(*usual_level);
    return settings;
}

}  // namespace tutti
