// The table and its file. PyTorch's stores count their handles in it, and so do we. Any thread.
#include "file_table.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/error.hpp"
#include "base/log.hpp"
#include "file_ranks.hpp"
#include "progress/pauses.hpp"

namespace tutti {
namespace {

// They count the handles that are open and those that have been closed.
constexpr const char* open_key = "refcount/";
constexpr const char* closed_key = "cleanup/";

constexpr int64_t closing_ms = 2'000;  // closing waits no longer for the lock: it must not hang

// The path is not the caller's any more once it changes its working directory.
std::string absolute(const std::string& path) {
    if (path.starts_with('/')) return path;
    char* folder = ::getcwd(nullptr, 0);
    if (folder == nullptr) return path;
    const std::string whole = cat(folder, '/', path);
    ::free(folder);
    return whole;
}

}  // namespace

FileTable::FileTable(const std::string& path, int world_size, const WaitLimit& limit, int rank)
    : path_(absolute(path)), world_size_(world_size), rank_(rank) {
    write(limit, [this](Table& table) {
        std::vector<std::string> changed{open_key};
        if (rank_ >= 0) {
            take_file_rank(table, rank_, world_size_, cat("file store \"", path_, "\""));
            changed.emplace_back(file_ranks_key);
        }
        table.add(open_key, 1);
        return changed;
    });
}

FileTable::~FileTable() {
    try {
        close();
    } catch (...) {
        log(LogLevel::Warning, current_status().message);
    }
}

// When all are known to have come and the last one goes, the file does. Both counts change under
// one lock. PyTorch's change one after the other, so of handles that close at once with one of its
// own, none may see that it is the last; nobody but the last could mend that, and it is gone.
void FileTable::close() {
    auto file =
        LockedFile::open(path_, LockedFile::Mode::Write, false, Deadline::after_ms(closing_ms));
    if (!file) return;
    const Lock lock(mutex_);
    refresh(*file);
    const int64_t closed = table_.add(closed_key, 1);
    const int64_t open = table_.add(open_key, -1);
    if (world_size_ > 0 && open == 0 && closed >= world_size_) return file->remove();
    std::string bytes;
    for (const char* key : {closed_key, open_key})
        LockedFile::encode(bytes, key, *table_.find(key));
    if (rank_ >= 0) {
        give_file_rank_back(table_, rank_, world_size_);
        const std::string* left = table_.find(file_ranks_key);
        LockedFile::encode(bytes, left == nullptr ? cat('-', file_ranks_key) : file_ranks_key,
                           left == nullptr ? "" : *left);
    }
    file->append(bytes);
}

bool FileTable::read(const WaitLimit& limit, const Look& look) {
    auto file = LockedFile::open(path_, LockedFile::Mode::Read, false, limit);
    const Lock lock(mutex_);
    if (file) {
        refresh(*file);
    } else {
        forget();
    }
    return look(table_);
}

// If the change cannot be written down, the table is forgotten and read anew.
void FileTable::write(const WaitLimit& limit, const Change& change) {
    auto file = LockedFile::open(path_, LockedFile::Mode::Write, true, limit);
    const Lock lock(mutex_);
    refresh(*file);
    try {
        std::string bytes;
        for (const std::string& key : change(table_)) {
            const std::string* value = table_.find(key);
            LockedFile::encode(bytes, value == nullptr ? '-' + key : key,
                               value == nullptr ? "" : *value);
        }
        file->append(bytes);
        position_.offset += static_cast<int64_t>(bytes.size());
    } catch (...) {
        forget();
        throw;
    }
}

bool FileTable::read_until(const WaitLimit& limit, const Look& look) {
    bool found = read(limit, look);
    for (Pauses pauses = Pauses::between_looks(); !found;) {
        if (limit.over()) return false;
        limit.sleep(pauses.next());
        found = look_again(limit, look);
    }
    return true;
}

// The file is locked and read only if it has changed. Opening it makes a network file system look
// at the server, which stat alone does not. The table is looked at in any case: another thread may
// have brought it up to date.
bool FileTable::look_again(const WaitLimit& limit, const Look& look) {
    struct stat status {};
    const net::Descriptor fd(
        open_tracked([&] { return ::open(path_.c_str(), O_RDONLY | O_CLOEXEC); }));
    const bool there = fd.valid() && ::fstat(fd.get(), &status) == 0;
    {
        const Lock lock(mutex_);
        if (there && status.st_dev == position_.device && status.st_ino == position_.inode &&
            status.st_size == position_.offset)
            return look(table_);
    }
    return read(limit, look);
}

// Brings the table up to date with the locked file.
void FileTable::refresh(LockedFile& file) {
    file.read(
        position_, [this]() TUTTI_REQUIRES(mutex_) { table_ = Table(); },
        [this](const std::string& key, std::string value) TUTTI_REQUIRES(mutex_) {
            if (key.starts_with('-'))
                table_.erase(key.substr(1));
            else
                table_.set(key, std::move(value));
        });
}

void FileTable::forget() {
    table_ = Table();
    position_ = {};
}

}  // namespace tutti
