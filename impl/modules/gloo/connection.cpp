// Reads the settings, makes Gloo's device and meets the other ranks. Each rank publishes what
// Gloo's own rendezvous of 2023 and later publishes: its host's name, the address of its device and
// a number for each pair.
#include "connection.hpp"

#include <fcntl.h>
#include <gloo/transport/pair.h>
#include <gloo/transport/tcp/device.h>
#include <linux/filter.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "descriptors.hpp"
#include "worker.hpp"

namespace tutti::gloo_module {

namespace {

using Bytes = std::vector<char>;

// Gloo's address is a sockaddr_storage and the number of a pair.
constexpr size_t address_bytes = 128 + sizeof(int64_t);
// Limits of one connection's time. Gloo waits five times as long for the other side to call.
constexpr int64_t max_connect_ms = 60'000;
constexpr int64_t min_connect_ms = 1'000;

struct Published {
    Bytes address;
    std::vector<int64_t> pairs;  // the number of the pair for each rank
};

// Writes bytes behind each other.
class Writer {
public:
    explicit Writer(size_t room) : bytes_(room) {}
    void add(const void* data, size_t size) {
        if (size > 0) std::memcpy(bytes_.data() + written_, data, size);
        written_ += size;
    }
    void add_size(uint64_t size) { add(&size, sizeof size); }
    Bytes take() { return std::move(bytes_); }

private:
    Bytes bytes_;
    size_t written_ = 0;
};

std::string host_name() {
    std::array<char, 256> name{};
    if (gethostname(name.data(), name.size() - 1) != 0) return "localhost";
    return name.data();
}

int64_t number_of(const Bytes& address) {
    int64_t number = 0;
    std::memcpy(&number, address.data() + address.size() - sizeof number, sizeof number);
    return number;
}

Bytes encode(const Published& own) {
    const std::string host = host_name();
    Writer to(sizeof(uint64_t) * (2 + own.pairs.size()) + host.size() + own.address.size());
    to.add_size(host.size());
    to.add(host.data(), host.size());
    to.add_size(own.address.size());
    to.add(own.address.data(), own.address.size());
    for (const int64_t pair : own.pairs) to.add_size(static_cast<uint64_t>(pair));
    return to.take();
}

Published decode(const Bytes& bytes, int rank, int size) {
    size_t read = 0;
    const auto next_size = [&] {
        uint64_t number = 0;
        if (bytes.size() - read < sizeof number) number = UINT64_MAX;
        if (number == 0) std::memcpy(&number, bytes.data() + read, sizeof number);
        read += sizeof number;
        return number;
    };
    const uint64_t host = next_size();
    const bool has_host = host < bytes.size() - sizeof host;
    if (has_host) read += host;
    const size_t rest = address_bytes + static_cast<size_t>(size) * sizeof(int64_t);
    if (!has_host || next_size() != address_bytes || bytes.size() - read != rest) {
        throw Failure{TUTTI_ERR_MISMATCH,
                      "rank " + std::to_string(rank) +
                          " has published an address that Gloo of 2023-12 or later does not have",
                      rank};
    }
    Published all;
    all.address.assign(bytes.begin() + static_cast<long>(read),
                       bytes.begin() + static_cast<long>(read + address_bytes));
    all.pairs.resize(static_cast<size_t>(size));
    std::memcpy(all.pairs.data(), bytes.data() + read + address_bytes,
                all.pairs.size() * sizeof(int64_t));
    return all;
}

// Gloo lets a thread fail that finds no descriptor: so there must be as many as it opens, for the
// device, and for each connection one that may be accepted for a moment longer than it is known.
void check_descriptors(int ranks) {
    constexpr int of_a_device = 8;
    std::vector<int> held;
    int number = 0;
    {
        const Opening opening;
        while (number == 0 && static_cast<int>(held.size()) < of_a_device + ranks) {
            const int one = ::open("/", O_PATH | O_CLOEXEC);
            if (one < 0) number = errno;
            if (one >= 0) held.push_back(one);
        }
        for (const int one : held) ::close(one);
    }
    if (number == 0) return;
    throw Failure{.status = TUTTI_ERR_OUT_OF_MEMORY,
                  .why = std::string("making Gloo's connections: ") + std::strerror(number),
                  .number = number};
}

// All that should call has called: what comes now is dropped.
void seal(int listening) {
    sock_filter drop = BPF_STMT(BPF_RET | BPF_K, 0);
    const sock_fprog program{1, &drop};
    ::setsockopt(listening, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
}

// For ranks of PyTorch, which choose so.
gloo::transport::tcp::attr attributes_by_environment(const Settings& settings) {
    gloo::transport::tcp::attr wanted;
    wanted.iface = settings.interface_name;
    for (const char* const variable : {"TUTTI_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"}) {
        const char* const value = std::getenv(variable);
        if (!wanted.iface.empty() || value == nullptr) continue;
        const std::string_view names = value;  // of several the first
        wanted.iface = names.substr(0, names.find(','));
    }
    return wanted;
}

std::shared_ptr<gloo::transport::tcp::Device> listen(const gloo::transport::tcp::attr& wanted,
                                                     int first_port, int last_port) {
    using gloo::transport::tcp::Device;
    const auto attributes = gloo::transport::tcp::CreateDeviceAttr(wanted);
    if (last_port == 0) return std::make_shared<Device>(attributes, false);
    for (int port = first_port; port <= last_port; ++port) {
        want_port(port);
        std::shared_ptr<Device> device;
        try {
            device = std::make_shared<Device>(attributes, false);
        } catch (const std::system_error&) {
            want_port(0);
            throw;
        } catch (const std::exception&) {  // the port is taken
        }
        want_port(0);
        if (device) return device;
    }
    throw Failure{TUTTI_ERR_NETWORK, "no port of TUTTI_PORT_RANGE=" + std::to_string(first_port) +
                                         "-" + std::to_string(last_port) +
                                         " can be had: each group over gloo takes one"};
}

std::shared_ptr<gloo::transport::Device> make_device(const tutti_backend_place& place,
                                                     const Settings& settings) {
    gloo::transport::tcp::attr wanted;
    const bool is_chosen = !settings.interface_name.empty();
    const bool is_alone = place.size == 1;
    if (is_alone) {
        wanted.hostname = "127.0.0.1";
    } else if (place.address == nullptr || is_chosen) {
        wanted = attributes_by_environment(settings);
    } else {
        wanted.hostname = place.address;
    }
    const BlockedSignals blocked;
    const int last_port = is_alone ? 0 : place.last_port;
    try {
        return listen(wanted, place.first_port, last_port);
    } catch (const std::system_error& error) {  // of Gloo's thread
        throw Failure{.status = TUTTI_ERR_OUT_OF_MEMORY,
                      .why = std::string("starting Gloo's thread: ") + error.what(),
                      .number = error.code().value()};
    } catch (const std::exception& error) {
        const std::string reason = error.what();
        if (!wanted.iface.empty()) {
            throw Failure{TUTTI_ERR_NETWORK, "the network interface \"" + wanted.iface +
                                                 "\" cannot be used: " + reason};
        }
        if (!wanted.hostname.empty()) {
            throw Failure{TUTTI_ERR_NETWORK, "cannot listen at " + wanted.hostname + ": " + reason};
        }
    }
    // The name of this host has no address.
    wanted.hostname = "127.0.0.1";
    return listen(wanted, place.first_port, last_port);
}

// Returns what all ranks publish, by the host's all_gather.
std::vector<Bytes> meet_by_host(const tutti_backend_place& place, const Bytes& own) {
    constexpr size_t max_host = 256;
    const auto size = static_cast<size_t>(place.size);
    const size_t room = sizeof(uint64_t) * 3 + max_host + address_bytes + size * sizeof(int64_t);
    Writer to(room);
    to.add_size(own.size());
    to.add(own.data(), own.size());
    const Bytes padded = to.take();
    Bytes all(room * size);
    tutti_error error = TUTTI_ERROR_INIT;
    const tutti_status status =
        place.host->all_gather(&place, padded.data(), room, all.data(), &error);
    if (status != TUTTI_OK) throw Failure{status, error.message, error.rank};
    std::vector<Bytes> of_ranks;
    for (size_t rank = 0; rank < size; ++rank) {
        const char* const begin = all.data() + rank * room;
        uint64_t bytes = 0;
        std::memcpy(&bytes, begin, sizeof bytes);
        bytes = std::min<uint64_t>(bytes, room - sizeof bytes);
        of_ranks.emplace_back(begin + sizeof bytes, begin + sizeof bytes + bytes);
    }
    return of_ranks;
}

Failure failure_of(tutti_status status, const tutti_error& error, const std::string& what) {
    const bool is_late = status == TUTTI_ERR_TIMEOUT;
    return {status,
            what + (is_late ? ": it has not come in time" : ": ") + (is_late ? "" : error.message)};
}

// Does the same under the keys of PyTorch's groups, for the device "cpu" and its context 0.
std::vector<Bytes> meet_in_store(const tutti_backend_place& place, const Bytes& own) {
    if (place.store == nullptr) {
        throw Failure{TUTTI_ERR_UNSUPPORTED,
                      "peers=pytorch needs a store, and this group has none"};
    }
    const auto key_of = [](int rank) { return "cpu//0/" + std::to_string(rank); };
    const tutti_store_table& table = *place.store_table;
    tutti_error error = TUTTI_ERROR_INIT;
    const std::string key = key_of(place.rank);
    const tutti_slice name{key.data(), key.size()}, value{own.data(), own.size()};
    tutti_status status = table.set(place.store, &name, &value, &error);
    if (status != TUTTI_OK) throw failure_of(status, error, "publishing this rank's address");
    std::vector<Bytes> of_ranks(static_cast<size_t>(place.size));
    const int64_t time = place.timeout_ms < 0 ? INT64_MAX : place.timeout_ms;
    const auto until = std::chrono::steady_clock::now() +
                       std::chrono::milliseconds(std::min<int64_t>(time, 1'000'000'000));
    for (int rank = 0; rank < place.size; ++rank) {
        const std::string other = key_of(rank);
        const tutti_slice wanted{other.data(), other.size()};
        const auto take = [](void* to, const void* data, size_t size) {
            const char* const begin = static_cast<const char*>(data);
            static_cast<Bytes*>(to)->assign(begin, begin + size);
        };
        do {
            const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
                until - std::chrono::steady_clock::now());
            status = table.get(place.store, &wanted, std::max<int64_t>(left.count(), 0), take,
                               &of_ranks[static_cast<size_t>(rank)], &error);
        } while (status == TUTTI_ERR_TIMEOUT && std::chrono::steady_clock::now() < until);
        if (status == TUTTI_OK) continue;
        Failure failure =
            failure_of(status, error, "waiting for the address of rank " + std::to_string(rank));
        failure.rank = rank;
        throw failure;
    }
    return of_ranks;
}

void connect_pairs(gloo::transport::Context& context, const std::vector<Bytes>& of_ranks) {
    for (int rank = 0; rank < context.size; ++rank) {
        if (rank == context.rank) continue;
        const Published theirs = decode(of_ranks[static_cast<size_t>(rank)], rank, context.size);
        Bytes address = theirs.address;
        const int64_t number = theirs.pairs[static_cast<size_t>(context.rank)];
        std::memcpy(address.data() + address.size() - sizeof number, &number, sizeof number);
        try {
            context.getPair(rank)->connect(address);
        } catch (const std::exception& error) {
            throw Failure{TUTTI_ERR_NETWORK,
                          "cannot connect to rank " + std::to_string(rank) + ": " + error.what(),
                          rank};
        }
    }
}

}  // namespace

Settings read_settings(const char* text) {
    Settings settings;
    std::string_view rest = text;
    while (!rest.empty()) {
        const std::string_view one = rest.substr(0, rest.find('&'));
        rest.remove_prefix(std::min(one.size() + 1, rest.size()));
        constexpr std::string_view interface = "interface=", peers = "peers=";
        if (one == "peers=pytorch") {
            settings.has_pytorch_peers = true;
            continue;
        }
        if (one.starts_with(peers)) {
            throw Failure{TUTTI_ERR_INVALID_ARGUMENT, "gloo's setting \"peers\" is \"" +
                                                          std::string(one.substr(peers.size())) +
                                                          "\", and can be \"pytorch\" alone"};
        }
        if (one.starts_with(interface) && one.size() > interface.size()) {
            settings.interface_name = one.substr(interface.size());
        } else {
            throw Failure{TUTTI_ERR_INVALID_ARGUMENT,
                          "gloo has no setting \"" + std::string(one.substr(0, one.find('='))) +
                              "\", only interface=NAME and peers=pytorch"};
        }
    }
    return settings;
}

Connection connect(const tutti_backend_place& place, const Settings& settings) {
    Connection made;
    set_host(*place.host);
    check_descriptors(place.size);
    made.device = make_device(place, settings);
    const int listening = last_listening_descriptor();
    made.context = made.device->createContext(place.rank, place.size);
    const int64_t time = place.timeout_ms < 0 ? max_connect_ms : place.timeout_ms / 5;
    made.context->setTimeout(
        std::chrono::milliseconds(std::clamp(time, min_connect_ms, max_connect_ms)));
    if (place.size == 1) return made;
    Published own;
    for (int rank = 0; rank < place.size; ++rank) {
        const Bytes address = made.context->createPair(rank)->address().bytes();
        own.pairs.push_back(number_of(address));
        own.address = address;
    }
    const int64_t none = -1;
    std::memcpy(own.address.data() + own.address.size() - sizeof none, &none, sizeof none);
    const bool is_foreign = settings.has_pytorch_peers;
    const std::vector<Bytes> of_ranks =
        is_foreign ? meet_in_store(place, encode(own)) : meet_by_host(place, encode(own));
    try {
        connect_pairs(*made.context, of_ranks);
        if (!is_foreign) {
            meet_by_host(place, {});  // all are connected, or all fail
            seal(listening);
        }
    } catch (...) {
        // Gloo's listener may still call back into a pair that is not connected.
        dynamic_cast<gloo::transport::tcp::Device&>(*made.device).shutdown();
        throw;
    }
    return made;
}

}  // namespace tutti::gloo_module
