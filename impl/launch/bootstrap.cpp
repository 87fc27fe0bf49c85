// The rendezvous of nodes. Main thread of the launcher.
#include "bootstrap.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <utility>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/random.hpp"
#include "fields.hpp"
#include "interruptible.hpp"
#include "keys.hpp"
#include "limits.hpp"
#include "net/interfaces.hpp"

namespace tutti::launch {

namespace {

// A connection may need a second try of the kernel's.
constexpr int64_t connect_slice_ms = 2'000;

std::string host_name(const Options& options) {
    if (!options.local_addr.empty()) return options.local_addr;
    std::array<char, HOST_NAME_MAX + 1> name{};
    ::gethostname(name.data(), name.size() - 1);
    return name.data();
}

Node this_node(const Options& options) {
    Node node{host_name(options), {}};
    for (const auto& program : options.programs) {
        node.programs.push_back({program.role, program.count});
    }
    return node;
}

// The ranks of a node's programs as a text for the other nodes.
std::string encode(const std::vector<ProgramRanks>& programs) {
    std::vector<std::string> fields;
    for (const auto& program : programs) {
        fields.push_back(program.role);
        fields.push_back(std::to_string(program.count));
    }
    return join_fields(fields);
}

std::vector<ProgramRanks> decode_programs(const std::string& text) {
    constexpr size_t fields_of_one = 2;
    const auto fields = split_fields(text, fields_of_one);
    const std::string what = "a number of ranks in the message of another tuttirun";
    std::vector<ProgramRanks> programs;
    for (size_t i = 1; i < fields.size(); i += fields_of_one) {
        const auto count = parse_number(fields[i], what, 1, limits::processes);
        programs.push_back({fields[i - 1], static_cast<int>(count)});
    }
    return programs;
}

bool is_here(const std::string& host) {
    const auto ours = net::addresses_of_this_host();
    const auto addresses = net::resolve({host, 0});
    return std::any_of(addresses.begin(), addresses.end(), [&](const net::Address& address) {
        return address.is_loopback() ||
               std::find(ours.begin(), ours.end(), address.host()) != ours.end();
    });
}

std::shared_ptr<Store> open_store(const Options& options, bool serve, const Deadline& deadline) {
    TcpStoreOptions store;
    store.host = options.endpoint.host;
    store.port = options.endpoint.port;
    store.is_master = serve;
    store.wait_for_workers = false;
    store.timeout_ms = std::max(deadline.poll_ms(), 1);
    return make_tcp_store(store);
}

std::shared_ptr<Store> serve_store(const Options& options) {
    const bool told = options.backend == Backend::Static;
    const bool here = options.endpoint.host == options.local_addr || is_here(options.endpoint.host);
    if (told ? options.node_rank != 0 : !here) return nullptr;
    try {
        return open_store(options, true, Deadline::after_ms(options.times.join_ms));
    } catch (const Error& error) {
        if (error.status().system_errno != EADDRINUSE) throw;
        // The first of several nodes on one machine serves the store.
        if (!told) {
            log(LogLevel::Info, "tuttirun: ", error.status().message, "; connecting to it");
            return nullptr;
        }
        Status status = error.status();
        status.message +=
            "; if that is another node of this job, give each a --node-rank of its own, or all "
            "--rdzv-backend c10d";
        throw Error(status);
    }
}

// The nodes must be of one job: this node would never get a sign of a job with another name, and
// the ranks of two jobs at one store would take each other for their own.
void check_job(const Options& options, Store& store, const std::string& place,
               const Deadline& deadline) {
    const auto there = store.compare_set(keys::job, "", options.run_id, deadline);
    if (there == options.run_id) return;
    store.set(keys::other_job, options.run_id, deadline);
    refuse("the nodes at ", place, " are those of job \"", there, "\", and this one is of job \"",
           options.run_id,
           "\": the nodes of a job have one --rdzv-id, and each job has its own endpoint");
}

// Nodes must agree on this; restart and kill differ in the number of restarts alone.
std::string policy(bool shrinks) {
    return shrinks ? "shrink" : "restart or kill";
}

class NodeBootstrap {
public:
    // `whole` is the store without the job's prefix.
    NodeBootstrap(const Options& options, SignalInbox& signals, std::shared_ptr<Store> whole,
                  std::shared_ptr<Store> store, const Deadline& deadline)
        : options_(options),
          signals_(signals),
          whole_(std::move(whole)),
          store_(std::move(store)),
          deadline_(deadline) {
        // Two nodes may have the same data.
        const auto token = cat(::getpid(), ".", random_value<uint32_t>());
        const Node node = this_node(options);
        card_ =
            join_fields({node.host, encode(node.programs), std::to_string(options.nnodes),
                         std::to_string(options.max_restarts), policy(goes_on(options)), token});
    }

    // `waits` gets the rank of this node if others are not there yet.
    Placement enter(const std::function<void(int rank)>& waits) {
        const int rank = claim();
        std::vector<std::string> names;
        for (int node = 0; node < options_.nnodes; ++node) names.push_back(keys::node(node));
        if (!store_->check(names, deadline_)) waits(rank);
        try {
            return await_others(rank, names);
        } catch (const Interrupted&) {
            // A node started in this one's place finds the rank free.
            store_->delete_key(keys::node(rank), Deadline::after_ms(keys::call_timeout_ms));
            throw;
        }
    }

private:
    int claim() {
        const int lowest = options_.node_rank.value_or(0);
        const int highest = options_.node_rank.value_or(options_.nnodes - 1);
        std::string taken_by;
        for (int rank = lowest; rank <= highest; ++rank) {
            const auto there = store_->compare_set(keys::node(rank), "", card_, deadline_);
            if (there == card_) {
                store_->add(keys::pulse(rank), 1, deadline_);
                return rank;
            }
            taken_by = split_fields(there, card_size).front();
        }
        if (!options_.node_rank) {
            refuse("all ", options_.nnodes, " nodes of job \"", options_.run_id,
                   "\" are there already");
        }
        refuse("a tuttirun on ", taken_by, " is node ", lowest,
               " already: each needs a --node-rank of its own");
    }

    Placement await_others(int rank, const std::vector<std::string>& names) {
        Placement placement;
        placement.node_rank = rank;
        placement.run_id = options_.run_id;
        placement.max_restarts = options_.max_restarts;
        std::vector<std::string> cards;
        try {
            cards = interruptibly(signals_, deadline_, wait_slice_ms, [&](const Deadline& slice) {
                return store_->multi_get(names, slice);
            });
        } catch (const Error& error) {
            if (error.status().code != TUTTI_ERR_TIMEOUT) throw;
            say_who_is_missing(names);
        }
        for (size_t node = 0; node < cards.size(); ++node) add(placement, node, cards[node]);
        return placement;
    }

    void add(Placement& placement, size_t node, const std::string& card) const {
        const auto fields = split_fields(card, card_size);
        const std::string what = "a number in the message of another tuttirun";
        const auto agree = [&](const char* option, int64_t theirs, int64_t ours) {
            if (theirs == ours) return;
            refuse("node ", node, " (", fields[0], ") was started with ", option, " ", theirs,
                   ", this one with ", ours);
        };
        agree("--nnodes", parse_number(fields[2], what, 1, limits::nodes), options_.nnodes);
        agree("--max-restarts", parse_number(fields[3], what, 0, limits::restarts),
              options_.max_restarts);
        if (fields[4] != policy(goes_on(options_))) {
            refuse("node ", node, " (", fields[0], ") was started with --on-failure ", fields[4],
                   ", this one with ", policy(goes_on(options_)));
        }
        placement.nodes.push_back({fields[0], decode_programs(fields[1])});
    }

    [[noreturn]] void say_who_is_missing(const std::vector<std::string>& names) const {
        std::string missing;
        int came = 0;
        for (size_t node = 0; node < names.size(); ++node) {
            const std::span<const std::string> name(&names[node], 1);
            if (store_->check(name, Deadline::after_ms(keys::call_timeout_ms))) {
                ++came;
            } else {
                missing += cat(missing.empty() ? "" : ", ", node);
            }
        }
        throw Error(TUTTI_ERR_TIMEOUT,
                    cat("timed out waiting for the nodes at ",
                        net::endpoint_text(options_.endpoint.host, options_.endpoint.port), ": ",
                        came, " of ", names.size(), " came, without ", missing, other_job()));
    }

    // They may be there under another name.
    [[nodiscard]] std::string other_job() const {
        const auto deadline = Deadline::after_ms(keys::call_timeout_ms);
        if (!whole_->check(std::span(&keys::other_job, 1), deadline)) return "";
        return cat("; a node of job \"", whole_->get(keys::other_job, deadline),
                   "\" was refused, and this job is \"", options_.run_id, "\"");
    }

    static constexpr size_t card_size = 6;

    const Options& options_;
    SignalInbox& signals_;
    std::shared_ptr<Store> whole_;
    std::shared_ptr<Store> store_;
    Deadline deadline_;
    std::string card_;
};

}  // namespace

BootstrapResult bootstrap_nodes(const Options& options, SignalInbox& signals,
                                const std::function<void(const std::string& sentence)>& say) {
    BootstrapResult bootstrap;
    if (options.nnodes == 1) {
        bootstrap.store = make_hash_store();
        bootstrap.placement.nodes = {this_node(options)};
        bootstrap.placement.run_id = options.run_id;
        bootstrap.placement.max_restarts = options.max_restarts;
        return bootstrap;
    }
    const auto deadline = Deadline::after_ms(options.times.join_ms);
    // If another program held the port for a moment, nobody serves: then the next try does.
    auto store = interruptibly(signals, deadline, connect_slice_ms, [&](const Deadline& slice) {
        auto own = serve_store(options);
        bootstrap.serves = own != nullptr;
        return bootstrap.serves ? own : open_store(options, false, slice);
    });
    bootstrap.port = tcp_store_port(*store).value_or(options.endpoint.port);
    const auto place = net::endpoint_text(options.endpoint.host, bootstrap.port);
    if (bootstrap.serves) say(cat("this node serves the store; the nodes meet at ", place));
    check_job(options, *store, place, deadline);
    bootstrap.store = make_prefix_store(cat("tuttirun/", options.run_id), store);
    NodeBootstrap nodes(options, signals, store, bootstrap.store, deadline);
    bootstrap.placement = nodes.enter([&](int rank) {
        if (!bootstrap.serves) {
            say(cat("node ", rank, " of ", options.nnodes, " waits for the others at ", place));
        }
    });
    return bootstrap;
}

}  // namespace tutti::launch
