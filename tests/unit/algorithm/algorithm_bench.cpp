// Which algorithm is fastest for which size? Ranks are processes on this machine, over tcp or gloo;
// all algorithms of a kind take turns, and the median of the rounds is printed, in microseconds a
// call (where there is a root, a call and a barrier), the best one marked. The tables in select.cpp
// come from here.
//   algorithm_bench [RANKS [ROUNDS [LONGEST_BYTES [CHANNEL]]]]
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <string>

#include "algorithm/algorithm.hpp"
#include "base/error.hpp"
#include "membership/membership.hpp"
#include "membership/processes.hpp"
#include "store/store.hpp"
#include "transport/gloo/gloo.hpp"
#include "transport/tcp/tcp.hpp"

namespace {

using namespace tutti;
using namespace tutti::algorithm;

const Reduction sum{TUTTI_FLOAT32, TUTTI_SUM};

// Memory for every algorithm: a row of parts, twice.
struct Workspace {
    Workspace(size_t bytes, int ranks)
        : one(bytes), other(bytes), parts(even_parts(Bytes(one), 4, ranks)) {
        for (const Bytes part : even_parts(Bytes(other), 4, ranks)) {
            results.push_back(part);
            inputs.emplace_back(part);
        }
    }
    std::vector<std::byte> one;
    std::vector<std::byte> other;
    std::vector<Bytes> parts;
    std::vector<Bytes> results;
    std::vector<ConstBytes> inputs;
};

struct Candidate {
    const char* name;
    std::function<void(Exchange&, Workspace&)> run;
};

// It is measured for the size of the whole row.
struct Kind {
    const char* name;
    CallKind call;
    std::vector<Candidate> candidates;
};

template <typename Algorithm>
Candidate broadcasts(const char* name, Algorithm* how) {
    return {name, [how](Exchange& exchange, Workspace& memory) { how(exchange, memory.one, 0); }};
}
template <typename Algorithm>
Candidate reduces(const char* name, Algorithm* how) {
    return {name, [how](Exchange& exchange, Workspace& memory) {
                how(exchange, memory.other, memory.one, 0, sum);
            }};
}
template <typename Algorithm>
Candidate reduce_scatters(const char* name, Algorithm* how) {
    return {name, [how](Exchange& exchange, Workspace& memory) {
                how(exchange, memory.inputs, memory.parts[static_cast<size_t>(exchange.rank())],
                    sum);
            }};
}
template <typename Algorithm>
Candidate gathers(const char* name, Algorithm* how) {
    return {name, [how](Exchange& exchange, Workspace& memory) {
                how(exchange, memory.inputs.back(), memory.parts, 0);
            }};
}
template <typename Algorithm>
Candidate scatters(const char* name, Algorithm* how) {
    return {name, [how](Exchange& exchange, Workspace& memory) {
                how(exchange, memory.inputs, memory.parts.back(), 0);
            }};
}
template <typename Algorithm>
Candidate all_gathers(const char* name, Algorithm* how) {
    return {name, [how](Exchange& exchange, Workspace& memory) { how(exchange, memory.parts); }};
}
template <typename Algorithm>
Candidate all_to_alls(const char* name, Algorithm* how) {
    return {name, [how](Exchange& exchange, Workspace& memory) {
                how(exchange, memory.inputs, memory.parts);
            }};
}
template <typename Algorithm>
Candidate all_reduces(const char* name, Algorithm* how) {
    return {name, [how](Exchange& exchange, Workspace& memory) { how(exchange, memory.one, sum); }};
}

std::vector<Kind> kinds() {
    return {
        {"all_reduce",
         CallKind::AllReduce,
         {all_reduces("doubling", recursive_doubling_all_reduce),
          all_reduces("ring", ring_all_reduce)}},
        {"broadcast",
         CallKind::Broadcast,
         {broadcasts("tree", tree_broadcast), broadcasts("direct", direct_broadcast)}},
        {"reduce", CallKind::Reduce, {reduces("tree", tree_reduce), reduces("ring", ring_reduce)}},
        {"reduce_scatter",
         CallKind::ReduceScatter,
         {reduce_scatters("halving", recursive_halving_reduce_scatter),
          reduce_scatters("ring", ring_reduce_scatter)}},
        {"all_gather",
         CallKind::AllGather,
         {all_gathers("bruck", bruck_all_gather), all_gathers("ring", ring_all_gather)}},
        {"gather",
         CallKind::Gather,
         {gathers("tree", tree_gather), gathers("direct", direct_gather)}},
        {"scatter",
         CallKind::Scatter,
         {scatters("tree", tree_scatter), scatters("direct", direct_scatter)}},
        {"all_to_all",
         CallKind::AllToAll,
         {all_to_alls("bruck", bruck_all_to_all), all_to_alls("pairwise", pairwise_all_to_all)}},
    };
}

class Bench {
public:
    Bench(Channel& channel, int rounds) : channel_(channel), rounds_(rounds) {}

    void measure(const Kind& kind, size_t bytes) {
        Workspace memory(bytes, channel_.size());
        const int calls = static_cast<int>(std::clamp<size_t>((1 << 20) / (bytes + 1), 2, 100));
        std::vector<std::vector<double>> times(kind.candidates.size());
        for (int round = 0; round < rounds_; ++round) {
            for (size_t index = 0; index < times.size(); ++index) {
                times[index].push_back(time(kind.call, kind.candidates[index], memory, calls));
            }
        }
        if (channel_.rank() != 0) return;
        std::vector<double> medians;
        for (auto& one : times) {
            std::ranges::sort(one);
            medians.push_back(one[one.size() / 2]);
        }
        const auto best = std::ranges::min_element(medians) - medians.begin();
        std::printf("%-15s %9zu", kind.name, bytes);
        for (size_t index = 0; index < medians.size(); ++index) {
            std::printf("  %8s %9.1f%s", kind.candidates[index].name, medians[index],
                        static_cast<ptrdiff_t>(index) == best ? " *" : "  ");
        }
        std::printf("\n");
        std::fflush(stdout);
    }

private:
    static bool has_root(CallKind call) {
        return call == CallKind::Broadcast || call == CallKind::Reduce ||
               call == CallKind::Gather || call == CallKind::Scatter;
    }
    Exchange next(CallKind call) {
        Fingerprint fingerprint{call};
        if (has_root(call)) fingerprint.root = 0;
        return {channel_, fingerprint, ++number_, Deadline::never()};
    }
    void meet() {
        Exchange exchange = next(CallKind::Barrier);
        dissemination_barrier(exchange);
    }

    double time(CallKind kind, const Candidate& candidate, Workspace& memory, int calls) {
        meet();
        const auto start = std::chrono::steady_clock::now();
        for (int call = 0; call < calls; ++call) {
            Exchange exchange = next(kind);
            candidate.run(exchange, memory);
            if (has_root(kind)) meet();  // a rank that only sends would run ahead
        }
        meet();
        const std::chrono::duration<double, std::micro> took =
            std::chrono::steady_clock::now() - start;
        return took.count() / calls;
    }

    Channel& channel_;
    const int rounds_;
    uint64_t number_ = 0;
};

void be_rank(const std::string& path, int rank, int ranks, int rounds, size_t longest,
             const std::string& over) {
    const Deadline deadline = Deadline::after_ms(60'000);
    std::vector<int> all(static_cast<size_t>(ranks));
    std::iota(all.begin(), all.end(), 0);
    Membership membership(
        bootstrap_processes(make_file_store(path, ranks), rank, ranks, "", deadline), 0,
        std::move(all));
    const auto channel =
        over == "gloo" ? gloo_channel::open(membership, deadline) : tcp::open(membership, deadline);
    Bench bench(*channel, rounds);
    for (const Kind& kind : kinds()) {
        const size_t row = 4 * static_cast<size_t>(ranks);  // parts of one size
        for (size_t bytes = 64; bytes <= longest; bytes *= 4) {
            bench.measure(kind, (bytes + row - 1) / row * row);
        }
    }
    channel->leave();
}

}  // namespace

int main(int count, char** arguments) {
    const auto number = [&](int index, long otherwise) {
        return count > index ? std::strtol(arguments[index], nullptr, 10) : otherwise;
    };
    const int ranks = static_cast<int>(number(1, 4));
    const int rounds = static_cast<int>(number(2, 9));
    const auto longest = static_cast<size_t>(number(3, 16L << 20));
    const std::string over = count > 4 ? arguments[4] : "tcp";
    ::setenv("TUTTI_HEARTBEAT_TIMEOUT_MS", "0", 1);
    char folder[] = "/tmp/tutti-bench-XXXXXX";
    if (mkdtemp(folder) == nullptr) return 1;
    const std::string path = cat(folder, "/store");
    for (int rank = 1; rank < ranks; ++rank) {
        if (fork() != 0) continue;
        be_rank(path, rank, ranks, rounds, longest, over);
        std::exit(0);
    }
    be_rank(path, 0, ranks, rounds, longest, over);
    int failed = 0;
    for (int status = 0; wait(&status) > 0;) failed += status == 0 ? 0 : 1;
    ::unlink(path.c_str());
    ::rmdir(folder);
    return failed == 0 ? 0 : 1;
}
