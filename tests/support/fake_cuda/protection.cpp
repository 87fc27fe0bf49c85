// The pages that the host may touch. A page is protected as those of its bytes need it that the
// device uses; who faults on other bytes of it gets the page until the next call of the driver, so
// nobody is accused of his neighbour's bytes.
#include "memory.hpp"
#include "model.hpp"
#include "report.hpp"

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <mutex>

namespace tutti::cuda {

static struct sigaction previous;

// Pages that somebody got for their other bytes, until the next call of the driver.
struct Lent {
    std::weak_ptr<Allocation> allocation;
    size_t offset = 0;
};
constexpr size_t max_lent = 64;  // those beyond stay his until something else happens to them
static size_t lent_count;

static std::array<Lent, max_lent>& lent() {
    static auto* const pages = new std::array<Lent, max_lent>;
    return *pages;
}

static size_t page_size() {
    static const auto size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    return size;
}

// Protects the pages of an extent as all pins of the allocation together need it.
static void protect(Allocation& allocation, const Extent& extent) {
    const size_t page = page_size();
    const auto access_to = [&](size_t begin) {
        int access = PROT_READ | PROT_WRITE;
        for (const Extent& pin : allocation.pins)
            if (pin.begin < begin + page && begin < pin.end)
                access &= pin.writes ? PROT_NONE : PROT_READ;
        return access;
    };
    const size_t end = std::min(extent.end, allocation.mapped);
    size_t begin = extent.begin / page * page;
    while (begin < end) {  // pages of one kind at a time
        const int access = access_to(begin);
        size_t next = begin + page;
        while (next < end && access_to(next) == access) next += page;
        mprotect(allocation.program + begin, next - begin, access);
        begin = next;
    }
}

void pin(Allocation& allocation, const Extent& extent) {
    if (!allocation.pinned || extent.gate || extent.begin == extent.end || !settings().protect)
        return;
    allocation.pins.push_back(extent);
    protect(allocation, extent);
}

void unpin(Allocation& allocation, const Extent& extent) {
    const auto found =
        std::find_if(allocation.pins.begin(), allocation.pins.end(), [&](const Extent& pinned) {
            return pinned.begin == extent.begin && pinned.end == extent.end &&
                   pinned.writes == extent.writes;
        });
    if (found == allocation.pins.end()) return;
    allocation.pins.erase(found);
    protect(allocation, extent);
}

void protect_again() {
    for (; lent_count > 0; lent_count--) {
        Lent& page = lent()[lent_count - 1];
        const auto allocation = page.allocation.lock();
        if (allocation != nullptr && allocation->alive)
            protect(*allocation, {page.offset, page.offset + 1, false, false});
        page.allocation.reset();
    }
}

static bool is_write([[maybe_unused]] const void* context) {
#if defined(__x86_64__)
    return (static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & 2) != 0;
#else
    return false;  // only what no access may touch is reported
#endif
}

// Whether the device writes this byte, or reads it and the host writes.
static const char* use_of(const Allocation& allocation, size_t offset, bool write) {
    for (const Extent& pin : allocation.pins)
        if (pin.begin <= offset && offset < pin.end && (pin.writes || write))
            return pin.writes ? "is written by the device" : "is read by the device";
    return nullptr;
}

// Reports, or finds that there is nothing to report. False: the address is not ours. What a handler
// of signals calls may not allocate.
static bool explain(uint64_t address, bool write) {
    const std::shared_ptr<Allocation> allocation = allocation_at(address);
    if (allocation == nullptr) return false;
    const size_t offset = address - reinterpret_cast<uint64_t>(allocation->program);
    const char* why = allocation->pinned ? use_of(*allocation, offset, write) : "is the device's";
    if (!allocation->alive) why = "was freed";
    if (why != nullptr) {
        char what[described];
        char text[3 * described];
        describe(*allocation, what);
        const bool pending = allocation->alive && allocation->pinned;
        std::snprintf(text, sizeof text, "the CPU %s byte %zu of %s, which %s%s",
                      write ? "wrote" : "touched", offset, what, why,
                      pending ? ", and the program has not seen the end of that" : "");
        report("HOST", text);
    }
    // Reported to a file, or not forbidden: the program goes on.
    if (allocation->pinned && lent_count < max_lent) lent()[lent_count++] = {allocation, offset};
    mprotect(allocation->program + offset / page_size() * page_size(), page_size(),
             PROT_READ | PROT_WRITE);
    return true;
}

static void on_fault(int signal, siginfo_t* information, void* context) {
    // A forked child has a mutex that perhaps nobody will unlock.
    if (!this_thread().inside && model().process == getpid()) {
        const std::lock_guard lock(model().mutex);
        if (explain(reinterpret_cast<uint64_t>(information->si_addr), is_write(context))) return;
    }
    if ((previous.sa_flags & SA_SIGINFO) != 0 && previous.sa_sigaction != nullptr) {
        previous.sa_sigaction(signal, information, context);
    } else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
        previous.sa_handler(signal);
    } else {
        sigaction(SIGSEGV, &previous, nullptr);  // the access comes again, and ends the process
    }
}

void watch_faults() {
    static bool watched = false;
    if (watched) return;
    watched = true;
    static_cast<void>(lent());  // a handler cannot make it
    struct sigaction action = {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGSEGV, &action, &previous);
}

}  // namespace tutti::cuda
