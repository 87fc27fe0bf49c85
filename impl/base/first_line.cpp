#include "first_line.hpp"

#include <cerrno>
#include <fstream>

#include "open_descriptors.hpp"
#include "resource_limits.hpp"

namespace tutti {

std::string first_line(const std::string& path) {
    const StandardPlaceholders held;
    errno = 0;
    std::ifstream file(path);
    if (!file && is_exhaustion(errno)) {
        throw system_error(TUTTI_ERR_INTERNAL, cat("cannot open ", path), errno);
    }
    std::string line;
    std::getline(file, line);
    return line;
}

}  // namespace tutti
