#include "moves.hpp"

#include <numeric>
#include <utility>

namespace tutti::mpi {

namespace {

struct Span {
    char* data;
    int64_t bytes;
};

struct Pieces {
    const int *counts, *places;
    const MPI_Datatype* types;
};

std::vector<int> counts_of(const std::vector<int64_t>& bytes) {
    return {bytes.begin(), bytes.end()};
}

std::vector<int> places_of(const std::vector<int64_t>& bytes) {
    std::vector<int> places(bytes.size(), 0);
    std::partial_sum(bytes.begin(), bytes.end() - 1, places.begin() + 1,
                     [](int64_t place, int64_t size) { return place + size; });
    return places;
}

bool are_even(const std::vector<int64_t>& bytes) {
    for (const int64_t one : bytes) {
        if (one != bytes[0]) return false;
    }
    return true;
}

// Arrays of MPI's that must stay until the end.
const int* keep(InFlight& flight, std::vector<int> numbers) {
    return flight.numbers.emplace_back(std::move(numbers)).data();
}

bool is_large(const Ranks& ranks, const std::vector<int64_t>& bytes) {
    return std::accumulate(bytes.begin(), bytes.end(), int64_t{0}) > ranks.settings.max_bytes;
}

void exchange(const Ranks& ranks, InFlight& flight, const std::vector<Span>& sends,
              const std::vector<Span>& receives) {
    for (int rank = 0; rank < static_cast<int>(receives.size()); ++rank) {
        const Span& one = receives[static_cast<size_t>(rank)];
        if (one.bytes == 0) continue;
        const Typed all = flight.typed(one.bytes, ranks.settings.max_bytes);
        must(MPI_Irecv(one.data, all.count, all.type, rank, 0, ranks.comm, flight.request()),
             "MPI_Irecv");
    }
    for (int rank = 0; rank < static_cast<int>(sends.size()); ++rank) {
        const Span& one = sends[static_cast<size_t>(rank)];
        if (one.bytes == 0) continue;
        const Typed all = flight.typed(one.bytes, ranks.settings.max_bytes);
        must(MPI_Isend(one.data, all.count, all.type, rank, 0, ranks.comm, flight.request()),
             "MPI_Isend");
    }
}

std::vector<Span> spans(const char* data, const std::vector<int64_t>& bytes) {
    std::vector<Span> all;
    for (const int64_t one : bytes) {
        all.push_back({const_cast<char*>(data), one});
        data += one;
    }
    return all;
}

// The types of pieces for MPI_Ialltoallw: their own types if MPI's int does not reach all of them.
Pieces typed_pieces(const Ranks& ranks, InFlight& flight, const std::vector<int64_t>& bytes) {
    std::vector<MPI_Datatype>& types =
        flight.type_lists.emplace_back(bytes.size(), MPI_DATATYPE_NULL);
    types.assign(bytes.size(), MPI_BYTE);
    if (!is_large(ranks, bytes)) {
        return {keep(flight, counts_of(bytes)), keep(flight, places_of(bytes)), types.data()};
    }
    std::vector<int> counts(bytes.size(), 0);
    int64_t begin = 0;
    for (size_t rank = 0; rank < bytes.size(); ++rank) {
        if (bytes[rank] == 0) continue;
        const Typed all = flight.typed(bytes[rank], ranks.settings.max_bytes, begin);
        counts[rank] = all.count;
        types[rank] = all.type;
        begin += bytes[rank];
    }
    // The first piece may be of bytes, at the beginning; types have their places in them.
    return {keep(flight, std::move(counts)), keep(flight, std::vector<int>(bytes.size(), 0)),
            types.data()};
}

}  // namespace

void move_to_all(const Ranks& ranks, InFlight& flight, const char* from, char* to,
                 const std::vector<int64_t>& bytes) {
    const int64_t own_bytes = bytes[static_cast<size_t>(ranks.rank)];
    if (is_large(ranks, bytes)) {
        const Span own{const_cast<char*>(from), own_bytes};
        return exchange(ranks, flight, std::vector<Span>(bytes.size(), own), spans(to, bytes));
    }
    const auto own = static_cast<int>(own_bytes);
    if (are_even(bytes)) {
        return ranks.call(flight, "MPI_Allgather", MPI_Allgather, MPI_Iallgather, from, own,
                          MPI_BYTE, to, own, MPI_BYTE, ranks.comm);
    }
    ranks.call(flight, "MPI_Allgatherv", MPI_Allgatherv, MPI_Iallgatherv, from, own, MPI_BYTE, to,
               keep(flight, counts_of(bytes)), keep(flight, places_of(bytes)), MPI_BYTE,
               ranks.comm);
}

void move_to_root(const Ranks& ranks, InFlight& flight, const char* from, char* to,
                  const std::vector<int64_t>& bytes, int root) {
    const int64_t own_bytes = bytes[static_cast<size_t>(ranks.rank)];
    if (is_large(ranks, bytes)) {
        std::vector<Span> sends(bytes.size(), Span{nullptr, 0});
        sends[static_cast<size_t>(root)] = {const_cast<char*>(from), own_bytes};
        return exchange(ranks, flight, sends,
                        ranks.rank == root ? spans(to, bytes) : std::vector<Span>{});
    }
    ranks.call(flight, "MPI_Gatherv", MPI_Gatherv, MPI_Igatherv, from, static_cast<int>(own_bytes),
               MPI_BYTE, to, keep(flight, counts_of(bytes)), keep(flight, places_of(bytes)),
               MPI_BYTE, root, ranks.comm);
}

void move_from_root(const Ranks& ranks, InFlight& flight, const char* from, char* to,
                    const std::vector<int64_t>& bytes, int root) {
    const int64_t own_bytes = bytes[static_cast<size_t>(ranks.rank)];
    if (is_large(ranks, bytes)) {
        std::vector<Span> receives(bytes.size(), Span{nullptr, 0});
        receives[static_cast<size_t>(root)] = {to, own_bytes};
        return exchange(ranks, flight,
                        ranks.rank == root ? spans(from, bytes) : std::vector<Span>{}, receives);
    }
    ranks.call(flight, "MPI_Scatterv", MPI_Scatterv, MPI_Iscatterv, from,
               keep(flight, counts_of(bytes)), keep(flight, places_of(bytes)), MPI_BYTE, to,
               static_cast<int>(own_bytes), MPI_BYTE, root, ranks.comm);
}

// If only pairs of ranks know the sizes, one rank may need types of its own where another does not:
// MPI_Ialltoallw serves both.
void move_between_all(const Ranks& ranks, InFlight& flight, const char* from,
                      const std::vector<int64_t>& sends, char* to,
                      const std::vector<int64_t>& receives, int64_t max_of_any_rank) {
    if (max_of_any_rank < 0) {
        const Pieces out = typed_pieces(ranks, flight, sends);
        const Pieces in = typed_pieces(ranks, flight, receives);
        ranks.call(flight, "MPI_Alltoallw", MPI_Alltoallw, MPI_Ialltoallw, from, out.counts,
                   out.places, out.types, to, in.counts, in.places, in.types, ranks.comm);
    } else if (max_of_any_rank > ranks.settings.max_bytes) {
        exchange(ranks, flight, spans(from, sends), spans(to, receives));
    } else if (are_even(sends)) {
        ranks.call(flight, "MPI_Alltoall", MPI_Alltoall, MPI_Ialltoall, from,
                   static_cast<int>(sends[0]), MPI_BYTE, to, static_cast<int>(receives[0]),
                   MPI_BYTE, ranks.comm);
    } else {
        ranks.call(flight, "MPI_Alltoallv", MPI_Alltoallv, MPI_Ialltoallv, from,
                   keep(flight, counts_of(sends)), keep(flight, places_of(sends)), MPI_BYTE, to,
                   keep(flight, counts_of(receives)), keep(flight, places_of(receives)), MPI_BYTE,
                   ranks.comm);
    }
}

}  // namespace tutti::mpi
