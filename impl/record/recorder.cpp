#include "recorder.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <new>
#include <optional>
#include <sstream>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "base/first_line.hpp"
#include "base/hash.hpp"
#include "base/log.hpp"
#include "base/mutex.hpp"
#include "base/open_descriptors.hpp"
#include "base/resource_limits.hpp"
#include "place.hpp"

namespace tutti::record {

namespace {

constexpr uint64_t default_entries = 2000;
constexpr int64_t most_entries = int64_t{1} << 20;
constexpr uint64_t share_of_room = 16;  // a file takes at most so much of what is free

struct Recorder {
    Mutex mutex;
    bool is_open TUTTI_GUARDED_BY(mutex) = false;
    std::optional<Ring> ring TUTTI_GUARDED_BY(mutex);
    std::string path TUTTI_GUARDED_BY(mutex);
    bool is_the_users TUTTI_GUARDED_BY(mutex) = false;
    size_t size TUTTI_GUARDED_BY(mutex) = 0;
    std::atomic<bool> had_failure{false};
    const Recorder* of_parent = nullptr;  // of the process that was forked, never used again
};

// Outlives all threads. A child of fork gets one of its own.
constinit std::atomic<Recorder*> present{nullptr};

Recorder& recorder() {
    Recorder* one = present.load(std::memory_order_acquire);
    if (one != nullptr) return *one;
    auto* const made = new Recorder;
    if (present.compare_exchange_strong(one, made)) return *made;
    delete made;
    return *one;
}

// torch's name, and its older one.
uint64_t entries_by_environment() {
    for (const Variable name :
         std::array<Variable, 2>{"TORCH_FR_BUFFER_SIZE", "TORCH_NCCL_TRACE_BUFFER_SIZE"}) {
        if (const auto given = environment_number(name, 0, most_entries)) {
            return static_cast<uint64_t>(*given);
        }
    }
    return default_entries;
}

Error failed_call(const std::string& what) {
    return Error(TUTTI_ERR_INTERNAL, cat(what, ": ", errno_text(errno)), -1, errno);
}

// The memory of a new file, all of it there: to write it cannot fail later.
void* map_file(const std::string& path, size_t size) {
    check_file_size(size, "a flight recorder's file");
    const int file = open_tracked([&] {
        unlink(path.c_str());  // of a process that had this number
        return ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    });
    if (file < 0) throw failed_call(path);
    const struct Close {
        int file;
        ~Close() { close_tracked(file); }
    } close{file};
    try {
        struct statvfs room {};
        if (fstatvfs(file, &room) == 0 && room.f_bavail * room.f_frsize / share_of_room < size) {
            throw Error(TUTTI_ERR_OUT_OF_MEMORY, cat("there is little room for ", path));
        }
        if (const int why = posix_fallocate(file, 0, static_cast<off_t>(size)); why != 0) {
            errno = why;
            throw failed_call(path);
        }
        void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (memory == MAP_FAILED) throw failed_call(path);
        return memory;
    } catch (...) {
        unlink(path.c_str());
        throw;
    }
}

void* map_memory(size_t size) {
    void* const memory =
        mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw failed_call("its memory");
    return memory;
}

template <size_t N>
void write_text(char (&to)[N], std::string_view text) {
    const size_t size = std::min(text.size(), N - 1);
    std::copy_n(text.begin(), size, to);
    to[size] = '\0';
}

// The line, or an empty one if it cannot be read.
std::string line_of(const char* path) {
    try {
        return first_line(path);
    } catch (const Error&) {  // this process has no descriptor for it
        return {};
    }
}

// Field 22 of /proc/self/stat; the second, a name in parentheses, may have anything in it.
uint64_t start_of_process() {
    const std::string line = line_of("/proc/self/stat");
    std::istringstream rest(line.substr(std::min(line.size(), line.rfind(')') + 1)));
    std::string field;
    constexpr int fields_between = 20;
    for (int i = 0; i < fields_between; ++i) rest >> field;
    return std::strtoull(field.c_str(), nullptr, 10);
}

std::string program_name() {
    std::array<char, 256> path{};
    const ssize_t size = readlink("/proc/self/exe", path.data(), path.size());
    return {path.data(), static_cast<size_t>(std::max<ssize_t>(size, 0))};
}

uint64_t number_by_environment(Variable name, uint64_t otherwise) {
    const char* const text = std::getenv(name.name());
    if (text == nullptr || *text < '0' || *text > '9') return otherwise;
    return std::strtoull(text, nullptr, 10);
}

void write_head(Ring& ring, uint64_t entries, bool is_counter) {
    Head& head = ring.head();
    head.version = version;
    head.entries = entries;
    head.pid = static_cast<uint64_t>(getpid());
    head.process_start = start_of_process();
    head.boot = fnv1a_64(line_of("/proc/sys/kernel/random/boot_id"));
    head.rank = number_by_environment("RANK", UINT64_MAX);
    head.world_size = number_by_environment("WORLD_SIZE", 0);
    head.restarts = number_by_environment("TORCHELASTIC_RESTART_COUNT", 0);
    head.is_counter = is_counter ? 1 : 0;
    std::array<char, sizeof head.host> host{};
    gethostname(host.data(), host.size() - 1);
    write_text(head.host, host.data());
    write_text(head.program, program_name());
    ring.write_moment(head.opened);
    ring.note_moment();
    head.next = 1;
    head.magic.store(magic, std::memory_order_release);
}

// A process that ends well and was never in trouble leaves no file in the user's folder.
void end_of_process() noexcept {
    Recorder& of = recorder();
    const Lock lock(of.mutex);
    if (!of.ring) return;
    of.ring->head().exited = 1;
    if (of.is_the_users && !of.had_failure) unlink(of.path.c_str());
}

constinit Recorder* left_by_parent = nullptr;

void end_in_child() noexcept {
    ring.store(nullptr, std::memory_order_relaxed);
    Recorder* const left = present.exchange(nullptr, std::memory_order_relaxed);
    if (left == nullptr) return;
    left->of_parent = left_by_parent;
    left_by_parent = left;
}

void make(Recorder& of, uint64_t entries) TUTTI_REQUIRES(of.mutex) {
    of.size = file_size(entries);
    void* memory = nullptr;
    try {
        const StandardPlaceholders held;
        Place place = new_place();
        memory = map_file(place.path, of.size);
        of.path = std::move(place.path);
        of.is_the_users = place.is_the_users;
    } catch (const Error& why) {
        log(LogLevel::Info,
            "the flight recorder has no file, and ends with this process: ", why.status().message);
        memory = map_memory(of.size);
    }
    auto* const head = new (memory) Head;
    auto* const groups = reinterpret_cast<GroupSlot*>(head + 1);
    auto* const first = reinterpret_cast<Entry*>(groups + group_slots);
    const bool is_counter = has_counter();
    of.ring.emplace(*head, groups, first, entries, Ticks(is_counter));
    write_head(*of.ring, entries, is_counter);
    static const bool is_prepared = [] {
        std::atexit(end_of_process);
        return pthread_atfork(nullptr, nullptr, end_in_child) == 0;
    }();
    if (!is_prepared) return;
    ring.store(&*of.ring, std::memory_order_release);
}

}  // namespace

void turn_on(int rank, int world_size) {
    Recorder& of = recorder();
    const Lock lock(of.mutex);
    if (!of.is_open) {
        const uint64_t wanted = entries_by_environment();
        of.is_open = true;
        try {
            if (wanted != 0) make(of, std::bit_ceil(wanted));
        } catch (const Error& why) {
            log(LogLevel::Info, "there is no flight recorder: ", why.status().message);
        }
    }
    if (!of.ring || rank < 0 || of.ring->head().rank != UINT64_MAX) return;
    of.ring->head().rank = static_cast<uint64_t>(rank);
    of.ring->head().world_size = static_cast<uint64_t>(world_size);
}

std::string path() {
    Recorder& of = recorder();
    const Lock lock(of.mutex);
    return of.path;
}

std::string copy() {
    Recorder& of = recorder();
    const Lock lock(of.mutex);
    if (!of.ring) return {};
    of.ring->note_moment();
    return of.ring->copy(of.size);
}

namespace {

// One that is free, else the one whose group ended first; 0: all groups live.
uint16_t free_slot(Ring& of) {
    uint16_t best = 0;
    for (uint16_t slot = 1; slot < group_slots; ++slot) {
        const GroupSlot& group = of.group(slot);
        if (group.state == group_state::free) return slot;
        if (group.state != group_state::ended) continue;
        if (best == 0 || group.ended < of.group(best).ended) best = slot;
    }
    return best;
}

uint64_t digest_of(const std::vector<int>& members) {
    return fnv1a_64({reinterpret_cast<const char*>(members.data()), members.size() * sizeof(int)});
}

// first, and step from bit 32 on; no step if they are irregular.
uint64_t first_and_step_of(const std::vector<int>& members) {
    if (members.empty()) return 0;
    const int step = members.size() > 1 ? members[1] - members[0] : 1;
    for (size_t i = 1; i < members.size(); ++i) {
        if (members[i] - members[i - 1] != step) return static_cast<uint32_t>(members[0]);
    }
    return static_cast<uint32_t>(members[0]) | uint64_t{static_cast<uint32_t>(step)} << 32;
}

}  // namespace

GroupRecord::GroupRecord(std::string_view name, std::string_view backend, int rank, int size,
                         const std::vector<int>& members) noexcept {
    Recorder& of = recorder();
    const Lock lock(of.mutex);
    if (!of.ring) return;
    slot_ = free_slot(*of.ring);
    if (slot_ == 0) return;
    GroupSlot& group = of.ring->group(slot_);
    group.state = group_state::free;
    group.rank_and_size = static_cast<uint32_t>(rank) | uint64_t{static_cast<uint32_t>(size)} << 32;
    group.members = digest_of(members);
    group.first_and_step = first_and_step_of(members);
    group.made = of.ring->ticks().now();
    group.ended = 0;
    group.last_enqueued = 0;
    group.last_completed = 0;
    write_text(group.name, name);
    write_text(group.backend, backend);
    group.state.store(group_state::live, std::memory_order_release);
    of.ring->note_moment();
}

void GroupRecord::end() noexcept {
    if (slot_ == 0) return;
    Recorder& of = recorder();
    const Lock lock(of.mutex);
    if (!of.ring) return;
    GroupSlot& group = of.ring->group(std::exchange(slot_, uint16_t{0}));
    group.ended = of.ring->ticks().now();
    group.state.store(group_state::ended, std::memory_order_release);
    of.ring->note_moment();
}

void Call::failed() noexcept {
    failed(current_status());
}

void Call::failed(const Status& status) noexcept {
    if (id_ != 0) recorder().had_failure.store(true, std::memory_order_relaxed);
    end(static_cast<uint8_t>(static_cast<int>(state::failed) + status.code));
    if (watched_) watched_->end(status);
}

uint32_t Ring::ask_thread_number() noexcept {
    return static_cast<uint32_t>(gettid());
}

std::string Ring::copy(size_t size) const {
    std::string bytes(size, '\0');
    const auto* const from = reinterpret_cast<const Word*>(&head_);
    for (size_t i = 0; i < size / sizeof(Word); ++i) {
        const uint64_t word = from[i].load(std::memory_order_acquire);
        std::memcpy(bytes.data() + i * sizeof word, &word, sizeof word);
    }
    return bytes;
}

}  // namespace tutti::record
