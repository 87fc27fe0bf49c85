#include "segment.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>

namespace fake_nccl {

namespace {

constexpr const char* folder = "/dev/shm";
constexpr time_t old_seconds = 60;  // younger ones may be between two ranks that come

// The file that has the name, with a lock for as long as it is open; -1 if the system refuses.
// Somebody may take the name away between the two.
int open_locked(const std::string& name) {
    for (;;) {
        const int file = shm_open(name.c_str(), O_CREAT | O_RDWR, 0600);
        if (file < 0) return -1;
        struct stat facts = {};
        while (flock(file, LOCK_SH) != 0 && errno == EINTR) {
        }
        if (fstat(file, &facts) == 0 && facts.st_nlink > 0) return file;
        close(file);
    }
}

void forget_if_abandoned(const std::string& name) {
    const int file = shm_open(name.c_str(), O_RDWR, 0600);
    if (file < 0) return;
    struct stat facts = {};
    const bool is_old = fstat(file, &facts) == 0 && time(nullptr) - facts.st_mtime >= old_seconds;
    if (is_old && flock(file, LOCK_EX | LOCK_NB) == 0) shm_unlink(name.c_str());
    close(file);
}

}  // namespace

std::shared_ptr<Segment> attach(const std::string& name) {
    const int file = open_locked(name);
    if (file < 0) return nullptr;
    void* memory = MAP_FAILED;
    if (ftruncate(file, sizeof(Segment)) == 0) {
        memory = mmap(nullptr, sizeof(Segment), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    }
    if (memory == MAP_FAILED) {
        close(file);
        return nullptr;
    }
    return {static_cast<Segment*>(memory), [file](Segment* mapped) {
                munmap(mapped, sizeof *mapped);
                close(file);
            }};
}

void forget(const std::string& name) {
    shm_unlink(name.c_str());
}

void forget_abandoned() {
    DIR* const names = opendir(folder);
    if (names == nullptr) return;
    const size_t length = std::strlen(name_start);
    while (const dirent* const entry = readdir(names)) {
        const std::string name = std::string("/") + entry->d_name;
        if (name.compare(0, length, name_start) == 0) forget_if_abandoned(name);
    }
    closedir(names);
}

}  // namespace fake_nccl
