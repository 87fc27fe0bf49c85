// A group as MPI's collectives see it: its communicator, and how they are called. Constant. Calls
// of MPI are made with the library's lock, or block on a thread of their own.
#pragma once

#include <cstdint>

#include "library.hpp"

namespace tutti::mpi {

struct Settings {
    bool is_direct = false;                // MPI works on the program's memory
    bool is_blocking = false;              // MPI's blocking collectives, on the thread that calls
    bool is_reproducible = false;          // all inputs of a reduction at once
    int64_t max_bytes = max_bytes_of_all;  // of one MPI call
};

struct Ranks {
    const tutti_backend_host& host;
    const Settings settings;
    const int rank, size;
    const MPI_Comm comm;

    // Calls MPI: `blocking` if calls are to block, else `begun`, which has a request as well.
    template <typename Blocking, typename Begun, typename... Arguments>
    void call(InFlight& flight, const char* name, Blocking blocking, Begun begun,
              Arguments... arguments) const {
        if (settings.is_blocking) return must(blocking(arguments...), name);
        must(begun(arguments..., flight.request()), name);
    }
};

}  // namespace tutti::mpi
