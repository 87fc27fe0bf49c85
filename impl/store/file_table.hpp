// A table that processes share through a file: every use opens and locks the file, reads what is
// new in it, and may add to it. A file tells nobody of changes, so waiting means looking again. Any
// thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/mutex.hpp"
#include "file_records.hpp"
#include "table.hpp"

namespace tutti {

class FileTable {
public:
    // Makes the file if it is not there. world_size -1: not fixed; rank -1: none is taken.
    FileTable(const std::string& path, int world_size, const WaitLimit& limit, int rank = -1);
    // If `world_size` is fixed, the last of the ranks removes the file.
    ~FileTable();
    FileTable(const FileTable&) = delete;
    FileTable& operator=(const FileTable&) = delete;

    [[nodiscard]] const std::string& path() const { return path_; }  // absolute

    using Look = std::function<bool(const Table&)>;
    // Returns what `look` says of the table as it is now.
    bool read(const WaitLimit& limit, const Look& look);
    // Looks again until `look` says yes; false if the wait was over first.
    bool read_until(const WaitLimit& limit, const Look& look);
    // `change` changes the table and returns the keys to write down.
    using Change = std::function<std::vector<std::string>(Table&)>;
    void write(const WaitLimit& limit, const Change& change);

private:
    void refresh(LockedFile& file) TUTTI_REQUIRES(mutex_);
    void forget() TUTTI_REQUIRES(mutex_);
    bool look_again(const WaitLimit& limit, const Look& look);
    void close();

    const std::string path_;
    const int world_size_;
    const int rank_;

    Mutex mutex_;
    Table table_ TUTTI_GUARDED_BY(mutex_);
    FilePosition position_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti
