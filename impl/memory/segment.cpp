#include "segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/control_group.hpp"
#include "base/first_line.hpp"
#include "base/hash.hpp"
#include "base/random.hpp"
#include "base/resource_limits.hpp"

namespace tutti::shm {

namespace {

constexpr size_t front_page = 4096;
constexpr const char* memory_folder = "/dev/shm";
constexpr size_t max_at_once = size_t{1} << 30;  // the system reads less than 2 GiB at a time

std::string link_text(const char* path) {
    char text[64] = "";
    const ssize_t length = ::readlink(path, text, sizeof text);
    return {text, length > 0 ? static_cast<size_t>(length) : 0};
}

uint64_t find_host() {
    const std::string boot = first_line("/proc/sys/kernel/random/boot_id");
    const std::string processes = link_text("/proc/self/ns/pid");
    if (boot.empty() || processes.empty()) return 0;
    return fnv1a_64(
        cat(boot, processes, link_text("/proc/self/ns/user"), link_text("/proc/self/ns/ipc")));
}

uint64_t random_mark() {
    uint64_t mark = 0;
    while (mark == 0) mark = random_value<uint64_t>();
    return mark;
}

[[noreturn]] void refuse_memory(const char* what, size_t bytes) {
    throw system_error(TUTTI_ERR_OUT_OF_MEMORY, cat(what, " ", bytes, " bytes of shared memory"),
                       errno);
}

// An exhausted limit of this process is not the other one's fault.
void check_exhaustion(const Address& address) {
    if (!is_exhaustion(errno)) return;
    throw system_error(TUTTI_ERR_OUT_OF_MEMORY,
                       cat("cannot open the shared memory of process ", address.process), errno);
}

[[noreturn]] void refuse_other(const Address& address, const char* why, int code = 0) {
    throw Error(TUTTI_ERR_UNSUPPORTED,
                cat("the memory of process ", address.process, " cannot be shared: ", why), -1,
                code);
}

// The other threads of a process. Its own number stands for its first thread, and leads nowhere
// once that has ended and others go on.
std::vector<int32_t> other_threads(int32_t process) {
    const StandardPlaceholders held;
    std::vector<int32_t> threads;
    std::error_code none;
    for (const auto& entry :
         std::filesystem::directory_iterator(cat("/proc/", process, "/task"), none)) {
        const std::string name = entry.path().filename();
        int32_t thread = 0;
        std::from_chars(name.data(), name.data() + name.size(), thread);
        if (thread != process) threads.push_back(thread);
    }
    return threads;
}

// Where the descriptor is found. Throws UNSUPPORTED if it is nowhere.
std::string path_of(const Address& address) {
    struct stat facts {};
    const std::string usual = cat("/proc/", address.process, "/fd/", address.descriptor);
    if (::stat(usual.c_str(), &facts) == 0) return usual;
    const int number = errno;
    for (const int32_t thread : other_threads(address.process)) {
        const std::string path =
            cat("/proc/", address.process, "/task/", thread, "/fd/", address.descriptor);
        if (::stat(path.c_str(), &facts) == 0) return path;
    }
    refuse_other(address, usual.c_str(), number);
}

// Like process_vm_readv, of all threads of a process.
ssize_t read_process(int32_t process, const iovec& into, const iovec& from) {
    ssize_t count = ::process_vm_readv(process, &into, 1, &from, 1, 0);
    if (count >= 0 || errno != ESRCH) return count;
    for (const int32_t thread : other_threads(process)) {
        count = ::process_vm_readv(thread, &into, 1, &from, 1, 0);
        if (count >= 0) return count;
    }
    errno = ESRCH;
    return -1;
}

net::Descriptor make_sealed_file(net::Descriptor file, size_t bytes) {
    const int number = file.get();
    constexpr unsigned seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    if (::fchmod(number, S_IRUSR | S_IWUSR) != 0 ||
        ::ftruncate(number, static_cast<off_t>(bytes + front_page)) != 0 ||
        ::fcntl(number, F_ADD_SEALS, seals) != 0) {
        refuse_memory("cannot make", bytes);
    }
    return file;
}

// Whether this is a file of tmpfs, which can be sealed no more, and none can open by a name. What
// memfd_create has made could have been sealed.
bool is_unnamed_memory(int file, const struct stat& facts) {
    return facts.st_nlink == 0 && ::fcntl(file, F_GET_SEALS) == F_SEAL_SEAL &&
           !link_text(cat("/proc/self/fd/", file).c_str()).starts_with("/memfd:");
}

// Takes memory for all of a file now; false with errno. What refuses other calls may refuse
// fallocate, too.
bool reserve(int file, size_t bytes) {
    if (::fallocate(file, 0, 0, static_cast<off_t>(bytes)) == 0) return true;
    if (errno != EPERM && errno != ENOSYS) return false;
    static constexpr std::array<char, front_page> zeros{};
    for (size_t done = 0; done < bytes;) {
        const ssize_t count = ::pwrite(file, zeros.data(), std::min(zeros.size(), bytes - done),
                                       static_cast<off_t>(done));
        if (count < 0 && errno != EINTR) return false;
        if (count > 0) done += static_cast<size_t>(count);
    }
    return true;
}

// Where memfd_create is refused, which is `refusal`. Of what a container lets /dev/shm have all
// is taken at once: what lacks when the memory is used would end the process.
net::Descriptor make_unnamed_file(size_t bytes, int refusal) {
    net::Descriptor file(open_tracked([] {
        return ::open(memory_folder, O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);
    }));
    if (!file.valid() && is_exhaustion(errno)) refuse_memory("cannot make", bytes);
    struct stat facts {};
    const bool can =
        file.valid() && ::fstat(file.get(), &facts) == 0 && is_unnamed_memory(file.get(), facts);
    const auto what = cat("cannot make ", bytes, " bytes of shared memory, in ", memory_folder);
    if (!can) throw call_error("memfd_create", cat(what, " neither"), refusal);
    if (!reserve(file.get(), bytes + front_page)) {
        throw Error(TUTTI_ERR_OUT_OF_MEMORY, cat(what, ": ", errno_text(errno)), -1, errno);
    }
    return file;
}

net::Descriptor make_memory_file(size_t bytes) {
    net::Descriptor file(
        open_tracked([] { return ::memfd_create("tutti", MFD_CLOEXEC | MFD_ALLOW_SEALING); }));
    if (file.valid()) return make_sealed_file(std::move(file), bytes);
    if (is_exhaustion(errno)) refuse_memory("cannot make", bytes);
    return make_unnamed_file(bytes, errno);
}

}  // namespace

// A process stays where it is.
uint64_t host_of_memory() {
    static const uint64_t host = find_host();
    return host;
}

size_t available_memory() {
    const StandardPlaceholders held;
    std::ifstream file("/proc/meminfo");
    for (std::string name; file >> name;) {
        size_t kibibytes = 0;
        if (name == "MemAvailable:" && file >> kibibytes) return kibibytes * 1024;
    }
    return SIZE_MAX;
}

bool read_memory(int32_t process, uint64_t place, std::span<std::byte> into) {
    while (!into.empty()) {
        const iovec local{into.data(), std::min(into.size(), max_at_once)};
        const iovec remote{reinterpret_cast<void*>(place), local.iov_len};
        const ssize_t count = read_process(process, local, remote);
        if (count <= 0) return false;
        place += static_cast<uint64_t>(count);
        into = into.subspan(static_cast<size_t>(count));
    }
    return true;
}

Segment::Segment(net::Descriptor descriptor, const Address& address, size_t bytes, Access access)
    : descriptor_(std::move(descriptor)), address_(address), bytes_(bytes + front_page) {
    const int may = access == Access::ReadOnly ? PROT_READ : PROT_READ | PROT_WRITE;
    void* const all = ::mmap(nullptr, bytes_, may, MAP_SHARED, descriptor_.get(), 0);
    if (all == MAP_FAILED) refuse_memory("cannot map", bytes_);
    // In a child of fork every call is an error, and none shall touch the parent's group.
    (void)::madvise(all, bytes_, MADV_DONTFORK);
    data_ = static_cast<std::byte*>(all) + front_page;
}

Segment::Segment(Segment&& other) noexcept
    : descriptor_(std::move(other.descriptor_)),
      address_(other.address_),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(other.bytes_) {}

Segment::~Segment() {
    if (data_ != nullptr) ::munmap(static_cast<std::byte*>(data_) - front_page, bytes_);
}

Segment Segment::make(size_t bytes) {
    check_file_size(bytes + front_page, cat("cannot make ", bytes, " bytes of shared memory"));
    net::Descriptor file = make_memory_file(bytes);
    const Address address{host_of_memory(), random_mark(), ::getpid(), file.get()};
    Segment segment(std::move(file), address, bytes, Access::ReadWrite);
    std::byte* const mark = static_cast<std::byte*>(segment.data_) - front_page;
    std::memcpy(mark, &address.mark, sizeof address.mark);
    segment.address_.place = reinterpret_cast<uint64_t>(mark);
    return segment;
}

Segment Segment::make_now(size_t bytes) {
    if (bytes > std::min<size_t>({available_memory(), memory_room().bytes, PTRDIFF_MAX / 2})) {
        errno = ENOMEM;
        refuse_memory("cannot make", bytes);
    }
    Segment segment = make(bytes);
#if defined(MADV_POPULATE_WRITE)
    // As if the program had touched it: what lacks is an error here, and counts as this process's.
    if (bytes > 0 && ::madvise(segment.data_, bytes, MADV_POPULATE_WRITE) != 0 && errno != EINVAL) {
        refuse_memory("cannot make", bytes);
    }
#endif
    return segment;
}

size_t Segment::size() const {
    return bytes_ - front_page;
}

uint64_t& Segment::mark() const {
    return *reinterpret_cast<uint64_t*>(static_cast<std::byte*>(data_) - front_page);
}

void Segment::give_up() noexcept {
    std::atomic_ref(mark()).store(0, std::memory_order_release);
    if (size() == 0) return;
    (void)::munlock(data_, size());  // what is locked would stay
    (void)::madvise(data_, size(), MADV_REMOVE);
}

bool Segment::is_given_up() const {
    return std::atomic_ref(mark()).load(std::memory_order_acquire) == 0;
}

bool Segment::lets_read_memory() const {
    uint64_t mark = 0;
    return read_memory(address_.process, address_.place,
                       std::as_writable_bytes(std::span(&mark, 1))) &&
           mark == address_.mark;
}

Segment Segment::open(const Address& address, size_t bytes, Access access) {
    if (address.host == 0 || address.host != host_of_memory()) {
        refuse_other(address, "it is on another host, or in another container");
    }
    // It may be anything else by now, which opening must not disturb.
    constexpr int careful = O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    const auto is_segment = [&](const struct stat& facts) {
        return S_ISREG(facts.st_mode) && static_cast<size_t>(facts.st_size) == bytes + front_page;
    };
    const std::string path = path_of(address);
    struct stat facts {};
    if (::stat(path.c_str(), &facts) != 0) refuse_other(address, path.c_str(), errno);
    if (!is_segment(facts)) refuse_other(address, "something else is there");
    const int mode = access == Access::ReadOnly ? O_RDONLY : O_RDWR;
    net::Descriptor file(open_tracked([&] { return ::open(path.c_str(), mode | careful); }));
    if (!file.valid()) {
        check_exhaustion(address);
        refuse_other(address, path.c_str(), errno);
    }
    if (::fstat(file.get(), &facts) != 0 || !is_segment(facts)) {
        refuse_other(address, "something else is there now");
    }
    const int seals = ::fcntl(file.get(), F_GET_SEALS);
    const bool is_sealed = seals >= 0 && (seals & F_SEAL_SHRINK) != 0;
    if (!is_sealed && !is_unnamed_memory(file.get(), facts)) {
        refuse_other(address, "it could shrink");
    }
    Segment segment(std::move(file), address, bytes, access);
    if (std::memcmp(static_cast<std::byte*>(segment.data_) - front_page, &address.mark,
                    sizeof address.mark) != 0) {
        refuse_other(address, "it is another one");
    }
    segment.close();
    return segment;
}

}  // namespace tutti::shm
