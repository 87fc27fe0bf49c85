// Bytes between ranks, of pieces that follow each other in memory. Where MPI's int does not reach,
// every pair of ranks exchanges its piece as one count of a type made for it.
#include <numeric>

#include "group.hpp"

namespace tutti::mpi {

namespace {

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

}  // namespace

bool Group::is_large(const std::vector<int64_t>& bytes) const {
    return std::accumulate(bytes.begin(), bytes.end(), int64_t{0}) > settings_.max_bytes;
}

void Group::exchange(Operation& operation, const std::vector<Span>& sends,
                     const std::vector<Span>& receives) {
    InFlight& flight = operation.flight;
    for (int rank = 0; rank < static_cast<int>(receives.size()); ++rank) {
        const Span& one = receives[static_cast<size_t>(rank)];
        if (one.bytes == 0) continue;
        const Typed all = flight.typed(one.bytes, settings_.max_bytes);
        must(MPI_Irecv(one.data, all.count, all.type, rank, 0, collectives_, flight.request()),
             "MPI_Irecv");
    }
    for (int rank = 0; rank < static_cast<int>(sends.size()); ++rank) {
        const Span& one = sends[static_cast<size_t>(rank)];
        if (one.bytes == 0) continue;
        const Typed all = flight.typed(one.bytes, settings_.max_bytes);
        must(MPI_Isend(one.data, all.count, all.type, rank, 0, collectives_, flight.request()),
             "MPI_Isend");
    }
}

std::vector<Group::Span> Group::spans(const char* data, const std::vector<int64_t>& bytes) {
    std::vector<Span> all;
    for (const int64_t one : bytes) {
        all.push_back({const_cast<char*>(data), one});
        data += one;
    }
    return all;
}

void Group::move_to_all(Operation& operation, const char* from, char* to,
                        const std::vector<int64_t>& bytes) {
    InFlight& flight = operation.flight;
    const int64_t mine = bytes[static_cast<size_t>(rank_)];
    if (is_large(bytes)) {
        const Span own{const_cast<char*>(from), mine};
        return exchange(operation, std::vector<Span>(bytes.size(), own), spans(to, bytes));
    }
    const auto own = static_cast<int>(mine);
    if (are_even(bytes)) {
        return call_mpi(flight, "MPI_Allgather", MPI_Allgather, MPI_Iallgather, from, own, MPI_BYTE,
                        to, own, MPI_BYTE, collectives_);
    }
    call_mpi(flight, "MPI_Allgatherv", MPI_Allgatherv, MPI_Iallgatherv, from, own, MPI_BYTE, to,
             keep(flight, counts_of(bytes)), keep(flight, places_of(bytes)), MPI_BYTE,
             collectives_);
}

void Group::move_to_root(Operation& operation, const char* from, char* to,
                         const std::vector<int64_t>& bytes, int root) {
    InFlight& flight = operation.flight;
    const int64_t mine = bytes[static_cast<size_t>(rank_)];
    if (is_large(bytes)) {
        std::vector<Span> sends(bytes.size(), Span{nullptr, 0});
        sends[static_cast<size_t>(root)] = {const_cast<char*>(from), mine};
        return exchange(operation, sends, rank_ == root ? spans(to, bytes) : std::vector<Span>{});
    }
    call_mpi(flight, "MPI_Gatherv", MPI_Gatherv, MPI_Igatherv, from, static_cast<int>(mine),
             MPI_BYTE, to, keep(flight, counts_of(bytes)), keep(flight, places_of(bytes)), MPI_BYTE,
             root, collectives_);
}

void Group::move_from_root(Operation& operation, const char* from, char* to,
                           const std::vector<int64_t>& bytes, int root) {
    InFlight& flight = operation.flight;
    const int64_t mine = bytes[static_cast<size_t>(rank_)];
    if (is_large(bytes)) {
        std::vector<Span> receives(bytes.size(), Span{nullptr, 0});
        receives[static_cast<size_t>(root)] = {to, mine};
        return exchange(operation, rank_ == root ? spans(from, bytes) : std::vector<Span>{},
                        receives);
    }
    call_mpi(flight, "MPI_Scatterv", MPI_Scatterv, MPI_Iscatterv, from,
             keep(flight, counts_of(bytes)), keep(flight, places_of(bytes)), MPI_BYTE, to,
             static_cast<int>(mine), MPI_BYTE, root, collectives_);
}

// The types of pieces for MPI_Ialltoallw: their own types if MPI's int does not reach all of them.
Group::Pieces Group::typed_pieces(InFlight& flight, const std::vector<int64_t>& bytes) const {
    std::vector<MPI_Datatype>& types =
        flight.type_lists.emplace_back(bytes.size(), MPI_DATATYPE_NULL);
    types.assign(bytes.size(), MPI_BYTE);
    if (!is_large(bytes)) {
        return {keep(flight, counts_of(bytes)), keep(flight, places_of(bytes)), types.data()};
    }
    std::vector<int> counts(bytes.size(), 0);
    int64_t begin = 0;
    for (size_t rank = 0; rank < bytes.size(); ++rank) {
        if (bytes[rank] == 0) continue;
        const Typed all = flight.typed(bytes[rank], settings_.max_bytes, begin);
        counts[rank] = all.count;
        types[rank] = all.type;
        begin += bytes[rank];
    }
    // The first piece may be of bytes, at the beginning; types have their places in them.
    return {keep(flight, std::move(counts)), keep(flight, std::vector<int>(bytes.size(), 0)),
            types.data()};
}

// If only pairs of ranks know the sizes, one rank may need types of its own where another does not:
// MPI_Ialltoallw serves both.
void Group::move_between_all(Operation& operation, const char* from,
                             const std::vector<int64_t>& sends, char* to,
                             const std::vector<int64_t>& receives, int64_t max_of_any_rank) {
    InFlight& flight = operation.flight;
    if (max_of_any_rank < 0) {
        const Pieces out = typed_pieces(flight, sends);
        const Pieces in = typed_pieces(flight, receives);
        call_mpi(flight, "MPI_Alltoallw", MPI_Alltoallw, MPI_Ialltoallw, from, out.counts,
                 out.places, out.types, to, in.counts, in.places, in.types, collectives_);
    } else if (max_of_any_rank > settings_.max_bytes) {
        exchange(operation, spans(from, sends), spans(to, receives));
    } else if (are_even(sends)) {
        call_mpi(flight, "MPI_Alltoall", MPI_Alltoall, MPI_Ialltoall, from,
                 static_cast<int>(sends[0]), MPI_BYTE, to, static_cast<int>(receives[0]), MPI_BYTE,
                 collectives_);
    } else {
        call_mpi(flight, "MPI_Alltoallv", MPI_Alltoallv, MPI_Ialltoallv, from,
                 keep(flight, counts_of(sends)), keep(flight, places_of(sends)), MPI_BYTE, to,
                 keep(flight, counts_of(receives)), keep(flight, places_of(receives)), MPI_BYTE,
                 collectives_);
    }
}

}  // namespace tutti::mpi
