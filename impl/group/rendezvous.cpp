// The init methods, each a function from URL to Meeting. Runs on the caller's thread; reads the
// environment and opens stores.
#include "rendezvous.hpp"

#include <climits>
#include <cstdlib>
#include <optional>
#include <utility>

#include "base/debug_level.hpp"
#include "base/environment.hpp"
#include "base/log.hpp"
#include "base/log_format.hpp"
#include "base/resource_limits.hpp"
#include "group.hpp"
#include "init_url.hpp"
#include "launchers.hpp"
#include "membership/address.hpp"
#include "membership/heartbeat.hpp"
#include "reduce/dispatch.hpp"
#include "schemes.hpp"
#include "store/job_end.hpp"

namespace tutti {

namespace {

std::string required_variable(Variable name) {
    auto value = environment(name);
    if (value) return *std::move(value);
    const char* lacks = std::getenv(name.name()) == nullptr ? " is not set" : " is empty";
    refuse("environment variable ", name, lacks, ", and env:// needs it");
}

int required_number(Variable name, int lowest, int highest) {
    const auto text = required_variable(name);
    const auto what = cat("environment variable ", name);
    return static_cast<int>(parse_number(text, what, lowest, highest));
}

// If a launcher serves the store, no rank does; tutti_spawn sets the address at which it does.
bool torchrun_serves_a_store() {
    return environment("TORCHELASTIC_USE_AGENT_STORE").value_or("") == "True";
}
bool spawn_serves_the_store(const net::Endpoint& address) {
    return environment("TUTTI_STORE_SERVED_AT") == cat(address.host, ":", address.port);
}

// A lack of resources in this process is this rank's error.
template <typename Connect>
std::shared_ptr<Store> connect_as(int rank, Connect&& connect) {
    try {
        return connect();
    } catch (...) {
        Status status = current_status();
        blame_own_exhaustion(status, rank);
        throw Error(status);
    }
}

// The participants; -1: not known.
struct Members {
    int rank = -1;
    int world_size = -1;
    int64_t timeout_ms = 0;
};

Rendezvous rendezvous_at(std::shared_ptr<Store> store, const Members& members) {
    store = make_prefix_store(default_group_prefix, std::move(store));
    store->set_timeout_ms(members.timeout_ms);
    return {std::move(store), members.rank, members.world_size, members.timeout_ms};
}

void check_members(const Members& members, const InitUrl& url) {
    const auto missing = [&](const char* name) {
        refuse("init method \"", url.text, "\" needs the argument ", name, ", or ?", name,
               "= at its end");
    };
    if (members.rank < 0) missing("rank");
    if (members.world_size < 0) missing("world_size");
    if (members.rank >= members.world_size) {
        refuse("rank ", members.rank, " is not below the world size, ", members.world_size);
    }
}

Rendezvous rendezvous_over_tcp(const net::Endpoint& address, bool is_master,
                               const Members& members) {
    TcpStoreOptions options;
    options.host = address.host;
    options.port = address.port;
    options.world_size = members.world_size;
    options.is_master = is_master;
    // Workers announce themselves, because a master of PyTorch counts them. Our master does not
    // wait for the count: making the group waits, and can name the missing ranks.
    options.wait_for_workers = !is_master;
    options.timeout_ms = members.timeout_ms;
    const auto connect = [members](const TcpStoreOptions& how) {
        return connect_as(members.rank, [&] { return make_tcp_store(how); });
    };
    Rendezvous place = rendezvous_at(connect(options), members);
    const bool is_served_by_rank_0 = !torchrun_serves_a_store() && !spawn_serves_the_store(address);
    if (is_master || !is_served_by_rank_0) return place;
    place.meet_again = [=](const Deadline& deadline) {
        TcpStoreOptions how = options;
        how.timeout_ms = deadline.is_never() ? -1 : deadline.poll_ms();
        return rendezvous_at(connect(how), members).store;
    };
    return place;
}

// Another launcher's variables complete torchrun's. The rank that serves the store needs no
// address: it listens on all of this host's.
net::Endpoint address_by_environment(const std::optional<LaunchPlace>& place, bool may_serve) {
    net::Endpoint address;
    if (may_serve && !place && std::getenv("MASTER_ADDR") == nullptr) {
        address.host = "";
    } else if (place && !environment("MASTER_ADDR")) {
        address.host = place->master_addr;
        if (address.host.empty()) {
            refuse(place->launcher, " does not tell the address of the host of rank 0: set ",
                   "environment variable MASTER_ADDR");
        }
    } else {
        address.host = without_brackets(required_variable("MASTER_ADDR"));
    }
    const bool told = environment("MASTER_PORT").has_value() || !place;
    address.port = told ? required_number("MASTER_PORT", 1, net::highest_port) : place->master_port;
    return address;
}

Rendezvous rendezvous_by_environment(const InitUrl& url, Members members) {
    if (!url.place.empty()) {
        refuse("init method \"", url.text, "\": nothing but parameters may follow env://");
    }
    std::optional<LaunchPlace> place;
    if (!environment("RANK") && !environment("WORLD_SIZE")) {
        place = place_by_launcher(environment_by_name);
    }
    if (members.rank < 0) members.rank = place ? place->rank : required_number("RANK", 0, INT_MAX);
    if (members.world_size < 0) {
        members.world_size = place ? place->world_size : required_number("WORLD_SIZE", 1, INT_MAX);
    }
    check_members(members, url);
    const bool may_serve = members.rank == 0 && !torchrun_serves_a_store();
    const auto address = address_by_environment(place, may_serve);
    const bool is_master = may_serve && !spawn_serves_the_store(address);
    return rendezvous_over_tcp(address, is_master, members);
}

Rendezvous rendezvous_by_address(const InitUrl& url, const Members& members) {
    const auto address = parse_endpoint(url);
    check_members(members, url);
    return rendezvous_over_tcp(address, members.rank == 0, members);
}

Rendezvous rendezvous_at_file(const InitUrl& url, const Members& members) {
    const auto& path = url.place;
    if (!path.starts_with('/') || path.ends_with('/')) {
        refuse("init method \"", url.text, "\" is not file:// and an absolute path");
    }
    check_members(members, url);
    const auto open = [&] {
        return make_file_store(path, members.world_size, members.rank,
                               Deadline::after_ms(members.timeout_ms));
    };
    return rendezvous_at(connect_as(members.rank, open), members);
}

Rendezvous rendezvous_outside(const InitUrl& url, const Members& known, const AdoptStore& adopt) {
    MetOutside met = meet_outside(url, known.rank, known.world_size, known.timeout_ms, adopt);
    const Members members{met.rank, met.world_size, known.timeout_ms};
    check_members(members, url);
    return rendezvous_at(std::move(met.store), members);
}

// The arguments and the values of the URL. `given` below `lowest` is not given.
template <typename Number>
Number agree(const char* name, Number given, Number lowest, const std::optional<Number>& told,
             const InitUrl& url) {
    if (!told) return given;
    if (given >= lowest && given != *told) {
        refuse("init method \"", url.text, "\" says that ", name, " is ", *told,
               ", and the argument says ", given);
    }
    return *told;
}

Members agree(int rank, int world_size, int64_t timeout_ms, const InitUrl& url) {
    if (rank < -1) refuse("rank is ", rank, "; it is 0 or more, or -1");
    if (world_size < -1 || world_size == 0) {
        refuse("world_size is ", world_size, "; it is 1 or more, or -1");
    }
    if (timeout_ms != 0 && url.timeout_ms && *url.timeout_ms != timeout_ms) {
        refuse("init method \"", url.text, "\" says that timeout is ", *url.timeout_ms,
               " ms, and options.timeout_ms says ", timeout_ms);
    }
    if (timeout_ms == 0) timeout_ms = url.timeout_ms.value_or(GroupOptions{}.timeout_ms);
    return {agree("rank", rank, 0, url.rank, url),
            agree("world_size", world_size, 1, url.world_size, url), timeout_ms};
}

}  // namespace

Rendezvous rendezvous(const std::string& init_method, int rank, int world_size, int64_t timeout_ms,
                      const AdoptStore& adopt) {
    const auto url = parse_init_url(init_method);
    if (is_scheme_of_ours(url.scheme)) refuse_others(url);
    const auto members = agree(rank, world_size, timeout_ms, url);
    if (url.scheme == "env") return rendezvous_by_environment(url, members);
    if (url.scheme == "tcp") return rendezvous_by_address(url, members);
    if (url.scheme == "file") return rendezvous_at_file(url, members);
    return rendezvous_outside(url, members, adopt);
}

void check_environment() {
    (void)log_level_by_environment();
    (void)log_format_by_environment();
    (void)debug_level_by_environment();
    (void)membership::Heartbeat::from_environment();
    (void)membership::addresses_by_environment();
    (void)choose_cpu_level(environment("TUTTI_CPU"), best_cpu_level());
}

}  // namespace tutti
