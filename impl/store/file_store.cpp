// A store in a file that all processes reach. Every operation opens and locks the file, reads what
// is new in it into a table, and may add to it. A file tells nobody of changes, so waiting means
// looking again. Any thread.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <limits>
#include <thread>
#include <type_traits>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/mutex.hpp"
#include "file_records.hpp"
#include "keys.hpp"
#include "store.hpp"
#include "table.hpp"

namespace tutti {
namespace {

// Callers' keys carry "/" in front; these have not, and count the handles that are open and those
// that have been closed.
constexpr const char* open_key = "refcount/";
constexpr const char* closed_key = "cleanup/";

constexpr auto first_look = std::chrono::microseconds(500);
constexpr auto longest_look = std::chrono::microseconds(20'000);
constexpr int64_t closing_ms = 2'000;  // closing waits no longer for the lock: it must not hang

std::string file_key(const std::string& key) {
    return '/' + key;
}

class FileStore final : public Store {
public:
    FileStore(const std::string& path, int world_size)
        : path_(path), where_(cat("file store \"", path, "\"")), world_size_(world_size) {
        // The path is not the caller's any more once it changes its working directory.
        if (!path_.starts_with('/')) make_absolute();
        write(default_deadline(), [](Table& table) {
            table.add(open_key, 1);
            return std::vector<std::string>{open_key};
        });
    }

    ~FileStore() override {
        try {
            close();
        } catch (...) {
            log(LogLevel::Warning, current_status().message);
        }
    }

    void set(const std::string& key, const std::string& value, const Deadline& deadline) override {
        check_key(key);
        check_value(key, value);
        write(deadline, [&](Table& table) {
            table.set(file_key(key), value);
            return std::vector<std::string>{file_key(key)};
        });
    }

    std::string get(const std::string& key, const Deadline& deadline) override {
        return std::move(fetch("get", Keys(&key, 1), deadline).front());
    }

    int64_t add(const std::string& key, int64_t amount, const Deadline& deadline) override {
        check_key(key);
        int64_t sum = 0;
        write(deadline, [&](Table& table) {
            sum = table.add(file_key(key), amount);
            return std::vector<std::string>{file_key(key)};
        });
        return sum;
    }

    void append(const std::string& key, const std::string& value,
                const Deadline& deadline) override {
        check_key(key);
        write(deadline, [&](Table& table) {
            table.append(file_key(key), value);
            return std::vector<std::string>{file_key(key)};
        });
    }

    bool check(Keys keys, const Deadline& deadline) override {
        check_keys(keys);
        return read(deadline, [&](const Table& table) { return has_all(table, keys); });
    }

    void wait(Keys keys, const Deadline& deadline) override { (void)fetch("wait", keys, deadline); }

    std::string compare_set(const std::string& key, const std::string& expected,
                            const std::string& desired, const Deadline& deadline) override {
        check_key(key);
        check_value(key, desired);
        std::string result;
        write(deadline, [&](Table& table) {
            const std::string* before = table.find(file_key(key));
            const bool swaps = before == nullptr ? expected.empty() : *before == expected;
            result = table.compare_set(file_key(key), expected, desired);
            return swaps ? std::vector<std::string>{file_key(key)} : std::vector<std::string>{};
        });
        return result;
    }

    bool delete_key(const std::string& key, const Deadline& deadline) override {
        check_key(key);
        bool deleted = false;
        write(deadline, [&](Table& table) {
            deleted = table.erase(file_key(key));
            return deleted ? std::vector<std::string>{file_key(key)} : std::vector<std::string>{};
        });
        return deleted;
    }

    std::vector<std::string> multi_get(Keys keys, const Deadline& deadline) override {
        return fetch("multi_get", keys, deadline);
    }

    void multi_set(Pairs pairs, const Deadline& deadline) override {
        check_pairs(pairs);
        for (const auto& [key, value] : pairs) check_value(key, value);
        write(deadline, [&](Table& table) {
            std::vector<std::string> changed;
            for (const auto& [key, value] : pairs) {
                table.set(file_key(key), value);
                changed.push_back(file_key(key));
            }
            return changed;
        });
    }

    int64_t num_keys(const Deadline& deadline) override {
        return read(deadline, [](const Table& table) {
            auto count = static_cast<int64_t>(table.size());
            for (const char* key : {open_key, closed_key})
                if (table.has(key)) --count;
            return count;
        });
    }

private:
    void make_absolute();
    void close();

    static void check_value(const std::string& key, const std::string& value) {
        if (value.size() > std::numeric_limits<uint32_t>::max())
            throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                        cat("file store: the value of ", key_text(key), " has ", value.size(),
                            " bytes; a file holds less than 4 GiB"));
    }

    static bool has_all(const Table& table, Keys keys) {
        return std::all_of(keys.begin(), keys.end(),
                           [&](const auto& key) { return table.has(file_key(key)); });
    }

    // Brings the table up to date with the locked file.
    void refresh(LockedFile& file) TUTTI_REQUIRES(mutex_) {
        file.read(
            position_, [this]() TUTTI_REQUIRES(mutex_) { table_ = Table(); },
            [this](const std::string& key, std::string value) TUTTI_REQUIRES(mutex_) {
                if (key.starts_with('-'))
                    table_.erase(key.substr(1));
                else
                    table_.set(key, std::move(value));
            });
    }

    template <typename Use>
    std::invoke_result_t<Use, const Table&> read(const Deadline& deadline, Use&& use) {
        auto file = LockedFile::open(path_, LockedFile::Mode::Read, false, deadline);
        const Lock lock(mutex_);
        if (file) {
            refresh(*file);
        } else {
            forget();
        }
        return use(std::as_const(table_));
    }

    void forget() TUTTI_REQUIRES(mutex_) {
        table_ = Table();
        position_ = {};
    }

    // `change` changes the table and returns the keys to write down. If that cannot be done, the
    // table is forgotten and read anew.
    template <typename Change>
    void write(const Deadline& deadline, Change&& change) {
        auto file = LockedFile::open(path_, LockedFile::Mode::Write, true, deadline);
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

    std::vector<std::string> fetch(const char* operation, Keys keys, const Deadline& deadline);
    bool look_again(const Deadline& deadline, const std::function<bool(const Table&)>& look);

    std::string path_;
    const std::string where_;
    const int world_size_;

    Mutex mutex_;
    Table table_ TUTTI_GUARDED_BY(mutex_);
    FilePosition position_ TUTTI_GUARDED_BY(mutex_);
};

void FileStore::make_absolute() {
    char* folder = ::getcwd(nullptr, 0);
    if (folder == nullptr) return;
    path_ = cat(folder, '/', path_);
    ::free(folder);
}

// The handle of the last process removes the file, when all are known to have come.
void FileStore::close() {
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
    file->append(bytes);
}

std::vector<std::string> FileStore::fetch(const char* operation, Keys keys,
                                          const Deadline& deadline) {
    check_keys(keys);
    std::vector<std::string> values(keys.size());
    const auto look = [&](const Table& table) {
        if (!has_all(table, keys)) return false;
        for (size_t i = 0; i < keys.size(); ++i) values[i] = *table.find(file_key(keys[i]));
        return true;
    };
    bool found = read(deadline, look);
    for (auto pause = first_look; !found; pause = std::min(pause * 3 / 2, longest_look)) {
        if (deadline.expired()) fail_timed_out(operation, keys, where_);
        const auto next = Deadline::Clock::now() + pause;
        std::this_thread::sleep_until(std::min(next, deadline.when()));
        found = look_again(deadline, look);
    }
    return values;
}

// The file is locked and read only if it has changed. The table is looked at in any case: another
// thread may have brought it up to date.
bool FileStore::look_again(const Deadline& deadline,
                           const std::function<bool(const Table&)>& look) {
    struct stat status {};
    const bool there = ::stat(path_.c_str(), &status) == 0;
    {
        const Lock lock(mutex_);
        if (there && status.st_dev == position_.device && status.st_ino == position_.inode &&
            status.st_size == position_.offset)
            return look(table_);
    }
    return read(deadline, look);
}

}  // namespace

std::shared_ptr<Store> make_file_store(const std::string& path, int world_size) {
    if (path.empty()) throw Error(TUTTI_ERR_INVALID_ARGUMENT, "file store: the path is empty");
    if (world_size == 0 || world_size < -1)
        throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                    cat("file store: a world size of ", world_size, " is not possible"));
    return std::make_shared<FileStore>(path, world_size);
}

}  // namespace tutti
