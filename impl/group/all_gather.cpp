#include "all_gather.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/plain.hpp"
#include "membership/address.hpp"
#include "membership/protocol.hpp"
#include "net/interfaces.hpp"
#include "net/socket.hpp"

namespace tutti {

namespace {

constexpr uint64_t magic = 0x3152454854414754;  // "TGATHER1", in this byte order
// The time that a store may take to prove that it is rank 0's before the next address is tried.
constexpr int64_t refused_ms = 3000;  // then the way to the store is closed: it was there before
constexpr int64_t answer_ms = 2000;
const std::string proof_key = "tutti/all_gather";

// The block of one rank, always of this size.
struct RankBlock {
    uint64_t magic;
    int32_t rank;
    int32_t size;
    int32_t status;  // of rank 0: why it has no store
    int32_t port;
    char token[16];
    char host[24];   // net::host_identity()
    char text[440];  // addresses with commas between; or what the status is about
    uint64_t end;    // magic again: the block is whole
};
static_assert(sizeof(RankBlock) == 512 && Plain<RankBlock>);

template <size_t room>
void write_text(char (&to)[room], const std::string& text) {
    const size_t size = std::min(text.size(), room - 1);
    std::memcpy(to, text.data(), size);
    to[size] = '\0';
}

template <size_t room>
std::string read_text(const char (&from)[room]) {
    return {from, strnlen(from, room)};
}

// As many of the best addresses as there is room for.
std::string address_list(const std::vector<std::string>& addresses) {
    std::string list;
    for (const std::string& one : addresses) {
        if (list.size() + one.size() + 2 > sizeof(RankBlock::text)) break;
        list += cat(list.empty() ? "" : ",", one);
    }
    return list;
}

std::vector<std::string> split(const std::string& list) {
    std::vector<std::string> pieces;
    for (size_t begin = 0; begin < list.size();) {
        const size_t comma = std::min(list.find(',', begin), list.size());
        pieces.push_back(list.substr(begin, comma - begin));
        begin = comma + 1;
    }
    return pieces;
}

std::shared_ptr<Store> connect(const std::string& host, int port, bool serve,
                               const Deadline& deadline) {
    TcpStoreOptions options;
    options.host = host;
    options.port = port;
    options.is_master = serve;
    options.wait_for_workers = false;
    options.timeout_ms = deadline.poll_ms();
    return make_tcp_store(options);
}

// Rank 0's store, and where it is, into the block.
std::shared_ptr<Store> serve(RankBlock& block, const Deadline& deadline) {
    const auto chosen = membership::addresses_by_environment();
    const auto addresses = chosen ? *chosen : membership::addresses_by_route("127.0.0.1");
    auto store = connect(chosen ? chosen->front() : "", 0, true, deadline);
    const auto token = membership::random_token();
    std::ranges::copy(token, block.token);
    store->set(proof_key, std::string(token.begin(), token.end()), deadline);
    block.port = *tcp_store_port(*store);
    const auto told = chosen ? std::vector{chosen->front()} : addresses;
    write_text(block.text, address_list(membership::without_interfaces(told)));
    return store;
}

std::string place(size_t rank) {
    return cat("callback: at the place of rank ", rank, " its output has ");
}

void check_block(const std::vector<RankBlock>& blocks, size_t rank, const RankBlock& mine) {
    const RankBlock& block = blocks[rank];
    const auto refuse = [&](const std::string& what) {
        throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                    cat(place(rank), what, "; it must be what that rank gave as input, ",
                        sizeof(RankBlock), " bytes for each rank, in the order of the ranks"));
    };
    if (block.magic != magic || block.end != magic) refuse("something else");
    if (block.rank != static_cast<int32_t>(rank)) refuse(cat("the input of rank ", block.rank));
    if (block.rank == mine.rank && std::memcmp(&block, &mine, sizeof block) != 0) {
        refuse("another input than this rank's: do two processes have that rank?");
    }
    if (block.size == mine.size) return;
    throw Error(TUTTI_ERR_MISMATCH,
                cat("rank ", rank, " says that world_size is ", block.size, ", and rank ",
                    mine.rank, " says ", mine.size),
                block.rank);
}

RankBlock gather_blocks(const AllGatherFunction& all_gather, const RankBlock& mine) {
    std::vector<RankBlock> blocks(static_cast<size_t>(mine.size));
    const Status status = all_gather(&mine, blocks.data(), sizeof(RankBlock));
    if (!status.ok()) {
        const bool known = status.code > TUTTI_OK && status.code <= TUTTI_ERR_PENDING;
        throw Error(known ? status.code : TUTTI_ERR_BACKEND,
                    cat("the all-gather callback failed: it returned ", status.code,
                        status.message.empty() ? "" : ": ", status.message),
                    -1, status.system_errno);
    }
    for (size_t rank = 0; rank < blocks.size(); ++rank) check_block(blocks, rank, mine);
    return blocks.front();
}

// Whether this is rank 0's store: the same address may lead elsewhere on another host.
bool proves_itself(Store& store, const RankBlock& rank_0, const Deadline& deadline) {
    const std::string token(rank_0.token, sizeof rank_0.token);
    return store.check(Store::Keys(&proof_key, 1), deadline) &&
           store.get(proof_key, deadline) == token;
}

std::shared_ptr<Store> find_store(const RankBlock& rank_0, const Deadline& deadline) {
    const auto own = net::addresses_of_this_host();
    const membership::View view{.same_host = read_text(rank_0.host) == net::host_identity(),
                                .route = "",
                                .usual_route = "",
                                .own = own};
    const auto given = split(read_text(rank_0.text));
    auto candidates = net::numeric_addresses(membership::seen_from_here(given, view), rank_0.port);
    std::string reasons;
    while (!candidates.empty()) {
        // Which one answers; the store makes its own connection to it.
        std::string found;
        try {
            found = net::Socket::connect(candidates, deadline, -1, Deadline::after_ms(refused_ms))
                        .remote_address();
        } catch (const Error& error) {
            reasons += cat(reasons.empty() ? "" : "; ", error.what());
            break;
        }
        try {
            const bool is_last = std::ranges::all_of(
                candidates, [&](const net::Address& one) { return one.host() == found; });
            const Deadline answer =
                is_last ? deadline : deadline.or_earlier(Deadline::after_ms(answer_ms));
            auto store = connect(found, rank_0.port, false, answer);
            if (proves_itself(*store, rank_0, answer)) return store;
            reasons += cat(reasons.empty() ? "" : "; ", "another process answers at ", found);
        } catch (const Error& error) {
            reasons += cat(reasons.empty() ? "" : "; ", error.what());
        }
        std::erase_if(candidates, [&](const net::Address& one) { return one.host() == found; });
    }
    throw Error(TUTTI_ERR_NETWORK, cat("cannot reach the store of rank 0: ", reasons), 0);
}

}  // namespace

std::shared_ptr<Store> make_store_by_all_gather(const AllGatherFunction& all_gather, int rank,
                                                int size, int64_t timeout_ms) {
    const Deadline deadline = Deadline::after_ms(timeout_ms);
    RankBlock mine{};
    mine.magic = mine.end = magic;
    mine.rank = rank;
    mine.size = size;
    write_text(mine.host, net::host_identity());
    std::shared_ptr<Store> store;
    Status failure;
    if (rank == 0) {
        try {
            store = serve(mine, deadline);
        } catch (...) {  // the others learn it in their all-gather
            failure = current_status();
            mine.status = failure.code;
            write_text(mine.text, failure.message);
        }
    }
    const RankBlock rank_0 = gather_blocks(all_gather, mine);
    if (!failure.ok()) throw Error(failure);
    if (rank_0.status != TUTTI_OK) {
        throw Error(rank_0.status, cat("rank 0 gave up: ", read_text(rank_0.text)), 0);
    }
    if (!store) store = find_store(rank_0, deadline);
    store->set_timeout_ms(timeout_ms);
    return store;
}

}  // namespace tutti
