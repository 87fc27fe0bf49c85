// The file of a file store that holds anything: its records are read to the first that is none,
// what was read says again what is in the file, and a store over it refuses it or works.
// Input: the file.
#include "store/file_records.hpp"

#include <unistd.h>

#include "base/error.hpp"
#include "input.hpp"
#include "store/store.hpp"

namespace {

using tutti::Deadline;
using tutti::LockedFile;

// One file, filled anew for each input.
class File {
public:
    File() : fd_(::mkstemp(path_.data())) { FUZZ_EXPECT(fd_ >= 0); }
    ~File() { ::unlink(path_.c_str()); }
    File(const File&) = delete;
    File& operator=(const File&) = delete;

    [[nodiscard]] const std::string& path() const { return path_; }
    void fill(const std::string& bytes) const {
        FUZZ_EXPECT(::ftruncate(fd_, 0) == 0);
        FUZZ_EXPECT(::pwrite(fd_, bytes.data(), bytes.size(), 0) ==
                    static_cast<ssize_t>(bytes.size()));
    }

private:
    std::string path_ = "/tmp/tutti-fuzz-XXXXXX";
    int fd_;
};

Deadline ample() {
    return Deadline::after_ms(60'000);
}

void read_records(const std::string& path, const std::string& bytes) {
    auto file = LockedFile::open(path, LockedFile::Mode::Read, false, ample());
    FUZZ_EXPECT(file.has_value());
    tutti::FilePosition position;
    std::string said;
    bool refused = false;
    try {
        file->read(
            position, [] {},
            [&](const std::string& key, const std::string& value) {
                LockedFile::encode(said, key, value);
            });
    } catch (const tutti::Error&) {
        refused = true;
    }
    FUZZ_EXPECT(bytes.starts_with(said));
    FUZZ_EXPECT(refused == (said.size() < bytes.size()));
    FUZZ_EXPECT(position.offset == static_cast<int64_t>(said.size()));
}

void use_store(const std::string& path) {
    try {
        const auto store = tutti::make_file_store(path, -1);
        const int64_t count = store->num_keys(ample());
        FUZZ_EXPECT(count >= 0);
        const std::vector<std::string> key = {"k"};
        const bool there = store->check(key, ample());
        store->set(key[0], "new", ample());
        FUZZ_EXPECT(store->get(key[0], ample()) == "new");
        FUZZ_EXPECT(store->num_keys(ample()) == count + (there ? 0 : 1));
        (void)store->add("n", 1, ample());
    } catch (const tutti::Error& error) {
        FUZZ_EXPECT(error.status().code == TUTTI_ERR_STORE);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const File file;
    const std::string bytes(reinterpret_cast<const char*>(data), size);
    file.fill(bytes);
    read_records(file.path(), bytes);
    use_store(file.path());
    return 0;
}
