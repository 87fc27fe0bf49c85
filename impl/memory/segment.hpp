// Memory that one process makes and others on its host map. It has no name in any file system: it
// is gone with the last process that maps it, however that ends. It cannot shrink under its
// readers. Any thread; touches /proc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "net/descriptor.hpp"

namespace tutti::shm {

// The location of another process's segment.
struct Address {
    uint64_t host = 0;  // digest of boot, and of the namespaces that /proc and memory depend on
    uint64_t mark = 0;  // random; also in the segment
    int32_t process = 0;
    int32_t descriptor = 0;
    uint64_t place = 0;  // in that process
};

// The host of this process, as Address has it; 0 if it is not known.
uint64_t host_of_memory();

// Bytes that the system can give to all processes without swapping; an upper bound where it does
// not say.
size_t available_memory();

// Copies from that process, from anywhere in its memory; false, with errno, if the system refuses.
bool read_memory(int32_t process, uint64_t place, std::span<std::byte> into);

class Segment {
public:
    // All zero. Throws OUT_OF_MEMORY, naming the limit; a file as large as the limit of file sizes
    // (ulimit -f) would raise SIGXFSZ, so it is not tried.
    static Segment make(size_t bytes);
    // The same, and backed at once: touching it cannot fail later.
    static Segment make_now(size_t bytes);
    enum class Access { ReadOnly, ReadWrite };
    // Throws UNSUPPORTED, saying why, if it cannot be opened; OUT_OF_MEMORY, naming the limit, if
    // this process has no descriptor or address space for it.
    static Segment open(const Address& address, size_t bytes, Access access);
    Segment(Segment&& other) noexcept;
    Segment& operator=(Segment&&) = delete;
    ~Segment();

    [[nodiscard]] void* data() const { return data_; }
    [[nodiscard]] size_t size() const;
    [[nodiscard]] const Address& address() const { return address_; }
    // Whether this process can also read the other memory of the process that made it.
    [[nodiscard]] bool lets_read_memory() const;
    // No process can open it any more.
    void close() { descriptor_.reset(); }

    // Frees its pages, here and wherever it is mapped; readers see zeros. For its maker.
    void give_up() noexcept;
    // Whether the process that made it has given it up.
    [[nodiscard]] bool is_given_up() const;

private:
    Segment(net::Descriptor descriptor, const Address& address, size_t bytes, Access access);
    [[nodiscard]] uint64_t& mark() const;

    net::Descriptor descriptor_;
    Address address_;
    void* data_ = nullptr;  // behind a page with the mark
    size_t bytes_;
};

}  // namespace tutti::shm
