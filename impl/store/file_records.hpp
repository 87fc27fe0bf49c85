// The file of a file store, opened and locked: PyTorch's FileStore layout. Records of a 32-bit
// length and the key, a 32-bit length and the value, little-endian, only ever added to the end.
// flock(2) keeps writers apart and readers out meanwhile. One thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "interruption.hpp"
#include "net/descriptor.hpp"

namespace tutti {

// Which file, and how far it has been read.
struct FilePosition {
    dev_t device = 0;
    ino_t inode = 0;
    int64_t offset = 0;
};

class LockedFile {
public:
    enum class Mode { Read, Write };

    // Nothing if the file is not there and not to be made. Throws STORE naming the path, and
    // TIMEOUT or ABORTED if others keep it locked until the limit.
    static std::optional<LockedFile> open(const std::string& path, Mode mode, bool make,
                                          const WaitLimit& limit);

    // Calls `record` for every record from `position` on, and moves that on; `restart` before, if
    // `position` is of a file that has been replaced since.
    void read(FilePosition& position, const std::function<void()>& restart,
              const std::function<void(std::string key, std::string value)>& record);

    // In one piece or not at all.
    void append(const std::string& bytes);
    static void encode(std::string& out, const std::string& key, const std::string& value);

    void remove();

private:
    LockedFile(std::string path, net::Descriptor descriptor)
        : path_(std::move(path)), descriptor_(std::move(descriptor)) {}
    bool lock(Mode mode, const WaitLimit& limit);
    [[noreturn]] void fail_locking(const WaitLimit& limit) const;

    std::string path_;
    net::Descriptor descriptor_;  // closing it unlocks
};

}  // namespace tutti
