#include "all_gather.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/plain.hpp"
#include "net/interfaces.hpp"
#include "served_store.hpp"

namespace tutti {

namespace {

constexpr uint64_t magic = 0x3152454854414754;  // "TGATHER1", in this byte order
constexpr int64_t refused_ms = 3000;  // then the way to the store is closed: it was there before

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

// Rank 0's store, and where it is, into the block.
std::shared_ptr<Store> serve(RankBlock& block, const Deadline& deadline) {
    ServedStore served = serve_store(deadline);
    std::ranges::copy(served.place.token, block.token);
    block.port = served.place.port;
    write_text(block.text, address_list(served.place.addresses));
    return std::move(served.store);
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

membership::Invitation place_of(const RankBlock& rank_0) {
    membership::Invitation place;
    place.port = rank_0.port;
    std::ranges::copy(rank_0.token, place.token.begin());
    place.host = read_text(rank_0.host);
    place.addresses = split(read_text(rank_0.text));
    return place;
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
    if (!store) store = find_store(place_of(rank_0), refused_ms, deadline);
    store->set_timeout_ms(timeout_ms);
    return store;
}

}  // namespace tutti
