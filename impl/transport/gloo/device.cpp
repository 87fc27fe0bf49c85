#include "device.hpp"

#include <linux/filter.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <system_error>

#include <gloo/transport/tcp/address.h>
#include <gloo/transport/tcp/context.h>
#include <gloo/transport/tcp/pair.h>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/mutex.hpp"
#include "base/open_descriptors.hpp"
#include "base/resource_limits.hpp"
#include "base/thread.hpp"
#include "loop_handler.hpp"

namespace tutti::gloo_channel {

namespace {

namespace tcp = ::gloo::transport::tcp;

// A device always listens, but tutti makes connections itself; a filter drops all packets to that
// port. Gloo reveals its port through the address of any pair, but not the descriptor.
int listening_port(const std::shared_ptr<tcp::Device>& device) {
    tcp::Context context(device, 0, 1);
    const tcp::Pair pair(&context, device.get(), 0, std::chrono::milliseconds(0));
    const auto& address = dynamic_cast<const tcp::Address&>(pair.address()).getSockaddr();
    return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

bool is_listening_at(int descriptor, int port) {
    int listening = 0;
    socklen_t size = sizeof listening;
    sockaddr_in address{};
    socklen_t address_size = sizeof address;
    return getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) == 0 &&
           listening != 0 &&
           getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &address_size) == 0 &&
           address.sin_family == AF_INET && ntohs(address.sin_port) == port &&
           ntohl(address.sin_addr.s_addr) == INADDR_LOOPBACK;
}

void seal(int descriptor) {
    sock_filter drop = BPF_STMT(BPF_RET | BPF_K, 0);
    const sock_fprog program{1, &drop};
    if (setsockopt(descriptor, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) != 0) {
        log(LogLevel::Warning, "gloo: cannot seal its listening socket: ", errno_text(errno));
    }
}

void seal_listening_socket(const std::shared_ptr<tcp::Device>& device) {
    const int port = listening_port(device);
    const StandardPlaceholders held;
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", none)) {
        const std::string name = entry.path().filename();
        int descriptor = -1;
        std::from_chars(name.data(), name.data() + name.size(), descriptor);
        if (!is_listening_at(descriptor, port)) continue;
        return seal(descriptor);
    }
    log(LogLevel::Warning, "gloo: cannot find its listening socket, which stays open");
}

}  // namespace

// Readable when the loop shall hurry.
class Device::Spin : public LoopHandler {
public:
    Spin()
        : descriptor_(
              open_tracked([] { return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC | EFD_SEMAPHORE); })) {
        if (descriptor_ < 0) {
            throw call_error("eventfd", "eventfd", errno);
        }
    }
    ~Spin() override { close_tracked(descriptor_); }
    [[nodiscard]] int descriptor() const { return descriptor_; }
    void begin() const noexcept {
        const uint64_t one = 1;
        [[maybe_unused]] const auto written = ::write(descriptor_, &one, sizeof one);
    }
    void end() const noexcept {
        uint64_t one = 0;
        [[maybe_unused]] const auto taken = ::read(descriptor_, &one, sizeof one);
    }

private:
    void handle(int /*events*/) noexcept override {}
    const int descriptor_;
};

std::shared_ptr<Device> Device::shared() {
    static Mutex mutex;
    static std::weak_ptr<Device> current;
    const Lock lock(mutex);
    auto device = current.lock();
    if (!device) {
        device.reset(new Device);
        current = device;
    }
    return device;
}

Device::Device() : spin_(std::make_unique<Spin>()) {
    // Gloo reports no lack of a descriptor.
    if (const int number = exhaustion_of_descriptors(8)) {
        throw system_error(TUTTI_ERR_OUT_OF_MEMORY, "making Gloo's loop", number);
    }
    const SignalsBlocked blocked;  // for Gloo's thread
    ::gloo::transport::tcp::attr attributes;
    attributes.hostname = "127.0.0.1";
    gloo_ = std::dynamic_pointer_cast<::gloo::transport::tcp::Device>(
        ::gloo::transport::tcp::CreateDevice(attributes));
    seal_listening_socket(gloo_);
    gloo_->registerDescriptor(spin_->descriptor(), EPOLLIN, spin_.get());
}

Device::~Device() {
    {
        const Hurry hurry(*this);
        gloo_->unregisterDescriptor(spin_->descriptor(), spin_.get());
    }
    gloo_.reset();
}

Device::Hurry::Hurry(Device& device) : device_(device) {
    device_.spin_->begin();
}
Device::Hurry::~Hurry() {
    device_.spin_->end();
}

}  // namespace tutti::gloo_channel
