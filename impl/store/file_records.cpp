// Opening, locking, reading and writing the file of a file store. One thread.
#include "file_records.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "base/resource_limits.hpp"
#include "limits.hpp"
#include "progress/pauses.hpp"

namespace tutti {
namespace {

// Between attempts to lock a file, which others hold for a short time.
Pauses pauses_for_lock() {
    return {std::chrono::microseconds(200), std::chrono::microseconds(2'000)};
}

constexpr size_t least_read = size_t{64} * 1024;

[[noreturn]] void fail(const std::string& path, const char* verb, int number) {
    throw system_error(TUTTI_ERR_STORE, cat("file store \"", path, "\": cannot ", verb, " it"),
                       number);
}

struct stat status_of(const std::string& path, int fd) {
    struct stat status {};
    if (::fstat(fd, &status) != 0) fail(path, "look at", errno);
    return status;
}

// The part of a file from `offset` to `end`, read ahead.
class Reader {
public:
    Reader(const std::string& path, int fd, int64_t offset, int64_t end)
        : path_(path), fd_(fd), next_(offset), end_(end) {}

    [[nodiscard]] int64_t offset() const {
        return next_ - static_cast<int64_t>(buffer_.size() - used_);
    }
    [[nodiscard]] bool at_end() const { return offset() == end_; }

    uint32_t length(size_t limit) {
        const std::string bytes = take(4);
        uint32_t value = 0;
        for (size_t i = 0; i < 4; ++i) value |= uint32_t{static_cast<uint8_t>(bytes[i])} << (8 * i);
        if (value > limit) refuse();
        return value;
    }

    std::string take(size_t size) {
        if (static_cast<int64_t>(size) > end_ - offset()) refuse();
        while (buffer_.size() - used_ < size) fill(size);
        std::string bytes = buffer_.substr(used_, size);
        used_ += size;
        return bytes;
    }

private:
    [[noreturn]] void refuse() const {
        throw Error(TUTTI_ERR_STORE,
                    cat("file store \"", path_, "\": no record at byte ", offset(),
                        "; it is no file of a store, or a writer died in the middle"));
    }

    void fill(size_t size) {
        buffer_.erase(0, used_);
        used_ = 0;
        const size_t had = buffer_.size();
        const auto left = static_cast<size_t>(end_ - next_);
        buffer_.resize(had + std::min(std::max(size - had, least_read), left));
        ssize_t count = -1;
        do {
            count = ::pread(fd_, buffer_.data() + had, buffer_.size() - had, next_);
        } while (count < 0 && errno == EINTR);
        const int number = errno;
        buffer_.resize(had + static_cast<size_t>(std::max<ssize_t>(count, 0)));
        if (count < 0) fail(path_, "read", number);
        if (count == 0) refuse();  // cut short meanwhile, by somebody who ignores the lock
        next_ += count;
    }

    const std::string& path_;
    int fd_;
    int64_t next_;  // what the file is read at next
    int64_t end_;
    std::string buffer_;
    size_t used_ = 0;
};

void append_length(std::string& out, size_t length) {
    for (size_t i = 0; i < 4; ++i) out.push_back(static_cast<char>(uint8_t(length >> (8 * i))));
}

}  // namespace

std::optional<LockedFile> LockedFile::open(const std::string& path, Mode mode, bool make,
                                           const WaitLimit& limit) {
    const int flags = (mode == Mode::Write ? O_RDWR : O_RDONLY) | O_CLOEXEC | (make ? O_CREAT : 0);
    Pauses pauses = pauses_for_lock();
    for (int replaced = 0; replaced < store_limits::file_openings;) {
        net::Descriptor fd(open_tracked([&] { return ::open(path.c_str(), flags, 0644); }));
        if (!fd.valid()) {
            if (errno == EINTR) continue;
            if (errno == ENOENT && !make) return std::nullopt;
            fail(path, "open", errno);
        }
        LockedFile file(path, std::move(fd));
        if (!file.lock(mode, limit)) file.fail_locking(limit);
        // The last user of a file removes it; a user that had it open by then starts over. A
        // network file system keeps what is open under another name, so the name is looked at.
        const struct stat status = status_of(path, file.descriptor_.get());
        if (!S_ISREG(status.st_mode)) fail(path, "use", EINVAL);
        struct stat named {};
        if (::stat(path.c_str(), &named) == 0 && named.st_dev == status.st_dev &&
            named.st_ino == status.st_ino)
            return file;
        if (limit.over()) file.fail_locking(limit);
        ++replaced;
        limit.sleep(pauses.next());
    }
    throw Error(TUTTI_ERR_STORE,
                cat("file store \"", path, "\": it was another file after each of ",
                    store_limits::file_openings,
                    " openings; somebody replaces it again and again, or its file "
                    "system does not tell files apart"));
}

void LockedFile::fail_locking(const WaitLimit& limit) const {
    const std::string what = cat("file store \"", path_, "\": ");
    if (limit.interrupted())
        throw Error(TUTTI_ERR_ABORTED, cat(what, "the wait for its lock was interrupted"));
    throw Error(TUTTI_ERR_TIMEOUT,
                cat(what, "timed out waiting for its lock (flock), which others hold"));
}

bool LockedFile::lock(Mode mode, const WaitLimit& limit) {
    Pauses pauses = pauses_for_lock();
    const int operation = (mode == Mode::Write ? LOCK_EX : LOCK_SH) | LOCK_NB;
    while (::flock(descriptor_.get(), operation) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR) fail(path_, "lock", errno);
        if (limit.over()) return false;
        limit.sleep(pauses.next());
    }
    return true;
}

void LockedFile::read(FilePosition& position, const std::function<void()>& restart,
                      const std::function<void(std::string key, std::string value)>& record) {
    const struct stat status = status_of(path_, descriptor_.get());
    if (status.st_dev != position.device || status.st_ino != position.inode ||
        status.st_size < position.offset) {
        restart();
        position = {status.st_dev, status.st_ino, 0};
    }
    Reader reader(path_, descriptor_.get(), position.offset, status.st_size);
    while (!reader.at_end()) {
        // "-/" stands before a key that is deleted.
        std::string key =
            reader.take(reader.length(StoreLimits().key_bytes + store_limits::file_key_overhead));
        std::string value = reader.take(reader.length(std::numeric_limits<uint32_t>::max()));
        record(std::move(key), std::move(value));
        position.offset = reader.offset();
    }
}

void LockedFile::append(const std::string& bytes) {
    const int64_t end = status_of(path_, descriptor_.get()).st_size;
    check_file_size(static_cast<uint64_t>(end) + bytes.size(),
                    cat("file store \"", path_, "\": cannot write it"));
    size_t done = 0;
    while (done < bytes.size()) {
        const ssize_t count = ::pwrite(descriptor_.get(), bytes.data() + done, bytes.size() - done,
                                       end + static_cast<int64_t>(done));
        if (count >= 0) {
            done += static_cast<size_t>(count);
        } else if (errno != EINTR) {
            const int number = errno;
            (void)::ftruncate(descriptor_.get(), end);  // half a record would spoil the file
            fail(path_, "write", number);
        }
    }
}

void LockedFile::encode(std::string& out, const std::string& key, const std::string& value) {
    append_length(out, key.size());
    out += key;
    append_length(out, value.size());
    out += value;
}

void LockedFile::remove() {
    if (::unlink(path_.c_str()) != 0 && errno != ENOENT) fail(path_, "remove", errno);
}

}  // namespace tutti
