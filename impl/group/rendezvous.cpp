// The init methods, each a function from URL to Meeting. Runs on the caller's thread; reads the
// environment and opens stores.
#include "rendezvous.hpp"

#include <climits>
#include <optional>
#include <utility>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "launchers.hpp"

namespace tutti {

namespace {

constexpr int highest_port = 65535;

struct Address {
    std::string host;
    int port = 0;
};

[[noreturn]] void refuse(const std::string& sentence) {
    throw Error(TUTTI_ERR_INVALID_ARGUMENT, sentence);
}

std::string required_variable(const char* name) {
    auto value = environment(name);
    if (!value) refuse(cat("environment variable ", name, " is not set, and env:// needs it"));
    return *std::move(value);
}

int required_number(const char* name, int lowest, int highest) {
    const auto text = required_variable(name);
    const auto what = cat("environment variable ", name);
    return static_cast<int>(parse_number(text, what, lowest, highest));
}

// Where a launcher serves the store, no rank does; tutti_spawn says at which address it does.
bool launcher_serves_the_store(const Address& address) {
    return environment("TORCHELASTIC_USE_AGENT_STORE").value_or("") == "True" ||
           environment("TUTTI_STORE_SERVED_AT") == cat(address.host, ":", address.port);
}

Meeting meet_at(std::shared_ptr<Store> store, int rank, int world_size, int64_t timeout_ms) {
    store = make_prefix_store("default_pg", std::move(store));
    store->set_timeout_ms(timeout_ms);
    return {std::move(store), rank, world_size};
}

void check_rank(int rank, int world_size, const std::string& init_method) {
    if (rank < 0) refuse(cat("init method \"", init_method, "\" needs the argument rank"));
    if (world_size < 0) {
        refuse(cat("init method \"", init_method, "\" needs the argument world_size"));
    }
    if (rank >= world_size) {
        refuse(cat("rank ", rank, " is not below the world size, ", world_size));
    }
}

Meeting meet_over_tcp(const Address& address, bool is_master, int rank, int world_size,
                      int64_t timeout_ms) {
    TcpStoreOptions options;
    options.host = address.host;
    options.port = address.port;
    options.world_size = world_size;
    options.is_master = is_master;
    // Workers announce themselves, for a master of PyTorch counts them. Our master does not wait
    // for the count: making the group waits, and can tell which ranks are missing.
    options.wait_for_workers = !is_master;
    options.timeout_ms = timeout_ms;
    return meet_at(make_tcp_store(options), rank, world_size, timeout_ms);
}

// What torchrun's variables do not say, another launcher's may.
Address address_by_environment(const std::optional<LaunchPlace>& place) {
    Address address;
    if (place && !environment("MASTER_ADDR")) {
        address.host = place->master_addr;
        if (address.host.empty()) {
            refuse(cat(place->launcher, " does not tell the address of the host of rank 0: set ",
                       "environment variable MASTER_ADDR"));
        }
    } else {
        address.host = required_variable("MASTER_ADDR");
    }
    const bool told = environment("MASTER_PORT").has_value() || !place;
    address.port = told ? required_number("MASTER_PORT", 1, highest_port) : place->master_port;
    return address;
}

Meeting meet_by_environment(const std::string& init_method, int rank, int world_size,
                            int64_t timeout_ms) {
    if (init_method != "env://") refuse(cat("nothing may follow env://: \"", init_method, "\""));
    std::optional<LaunchPlace> place;
    if (!environment("RANK") && !environment("WORLD_SIZE")) {
        place = place_by_launcher([](const char* name) { return environment(name); });
    }
    if (rank < 0) rank = place ? place->rank : required_number("RANK", 0, INT_MAX);
    if (world_size < 0) {
        world_size = place ? place->world_size : required_number("WORLD_SIZE", 1, INT_MAX);
    }
    check_rank(rank, world_size, init_method);
    const auto address = address_by_environment(place);
    const bool is_master = rank == 0 && !launcher_serves_the_store(address);
    return meet_over_tcp(address, is_master, rank, world_size, timeout_ms);
}

// "host:port" or "[IPv6]:port".
Address parse_address(const std::string& text, const std::string& init_method) {
    const auto malformed = [&](const char* why) {
        refuse(cat("init method \"", init_method, "\" is not tcp://host:port: ", why));
    };
    Address address;
    std::string rest;
    if (text.starts_with('[')) {
        const auto end = text.find(']');
        if (end == std::string::npos) malformed("the bracket does not close");
        address.host = text.substr(1, end - 1);
        rest = text.substr(end + 1);
    } else {
        const auto end = text.find(':');
        address.host = text.substr(0, end);
        rest = end == std::string::npos ? "" : text.substr(end);
        if (rest.find(':', 1) != std::string::npos) malformed("an IPv6 address needs brackets");
    }
    if (address.host.empty()) malformed("the host is missing");
    if (rest.size() < 2 || rest.front() != ':') malformed("the port is missing");
    const auto what = cat("the port of init method \"", init_method, "\"");
    address.port = static_cast<int>(parse_number(rest.substr(1), what, 1, highest_port));
    return address;
}

Meeting meet_by_address(const std::string& init_method, const std::string& rest, int rank,
                        int world_size, int64_t timeout_ms) {
    const auto address = parse_address(rest, init_method);
    check_rank(rank, world_size, init_method);
    return meet_over_tcp(address, rank == 0, rank, world_size, timeout_ms);
}

Meeting meet_at_file(const std::string& init_method, const std::string& path, int rank,
                     int world_size, int64_t timeout_ms) {
    if (!path.starts_with('/') || path.ends_with('/')) {
        refuse(cat("init method \"", init_method, "\" is not file:// and an absolute path"));
    }
    check_rank(rank, world_size, init_method);
    return meet_at(make_file_store(path, world_size), rank, world_size, timeout_ms);
}

}  // namespace

Meeting meet(const std::string& init_method, int rank, int world_size, int64_t timeout_ms) {
    if (rank < -1) refuse(cat("rank is ", rank, "; it is 0 or more, or -1"));
    if (world_size < -1 || world_size == 0) {
        refuse(cat("world_size is ", world_size, "; it is 1 or more, or -1"));
    }
    const auto separator = init_method.find("://");
    const auto scheme = init_method.substr(0, separator);
    const auto rest =
        separator == std::string::npos ? std::string() : init_method.substr(separator + 3);
    if (separator != std::string::npos) {
        if (scheme == "env") return meet_by_environment(init_method, rank, world_size, timeout_ms);
        if (scheme == "tcp")
            return meet_by_address(init_method, rest, rank, world_size, timeout_ms);
        if (scheme == "file") return meet_at_file(init_method, rest, rank, world_size, timeout_ms);
    }
    refuse(cat("init method \"", init_method,
               "\" is not known; there are env://, tcp://host:port and file:///path"));
}

}  // namespace tutti
