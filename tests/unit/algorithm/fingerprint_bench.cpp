// The price of the comparison of calls. Two processes swap 8 bytes, by turns bare, with the head of
// a first message in front whose fingerprint is compared, and by an Exchange, as collectives do,
// which keeps its books as well. The medians of the rounds are printed, in microseconds a swap, and
// by how much each is longer than bare.
//   fingerprint_bench [tcp|gloo [ROUNDS [SWAPS]]]
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "algorithm/algorithm.hpp"
#include "base/error.hpp"
#include "membership/membership.hpp"
#include "membership/processes.hpp"
#include "progress/event.hpp"
#include "store/store.hpp"
#include "transport/gloo/gloo.hpp"
#include "transport/tcp/tcp.hpp"

namespace {

using namespace tutti;

constexpr size_t payload = 8;

class Listener : public TransferListener {
public:
    Event event;
    void transfer_done(Transfer& /*transfer*/) noexcept override { event.notify(); }
};

class Bench {
public:
    explicit Bench(Channel& channel) : channel_(channel) {}

    enum Way { Bare, Compared, Exchanged, ways };

    double time(Way way, int swaps) {
        const auto start = std::chrono::steady_clock::now();
        for (int swap = 0; swap < swaps; ++swap) {
            if (way == Exchanged) {
                by_exchange();
            } else {
                swap_messages(way == Compared);
            }
        }
        const std::chrono::duration<double, std::micro> took =
            std::chrono::steady_clock::now() - start;
        return took.count() / swaps;
    }

private:
    void by_exchange() {
        Exchange exchange(channel_, Fingerprint{CallKind::Barrier}, ++sequence_, Deadline::never());
        std::array<std::byte, payload> in{};
        const std::array<std::byte, payload> out{};
        exchange.swap(1 - channel_.rank(), out, in);
        exchange.wait_all();
    }

    struct Message {
        Exchange::Head head;
        std::array<std::byte, payload> data;
    };

    void swap_messages(bool has_head) {
        Message in{};
        Message out{};
        const size_t bytes = has_head ? sizeof(Message) : payload;
        if (has_head) out.head = {Fingerprint{CallKind::Barrier}, {}, payload, payload};
        const Slot slot = Slot::collective(++sequence_);
        Transfer incoming;
        Transfer outgoing;
        incoming.listener = outgoing.listener = listener_;
        outgoing.may_end_early = true;
        channel_.post_receive(incoming, 1 - channel_.rank(), slot,
                              has_head ? &in : static_cast<void*>(in.data.data()), bytes);
        channel_.post_send(outgoing, 1 - channel_.rank(), slot,
                           has_head ? &out : static_cast<void*>(out.data.data()), bytes);
        for (Transfer* transfer : {&incoming, &outgoing}) {
            while (!transfer->done.load(std::memory_order_acquire)) {
                const uint32_t ticket = listener_->event.ticket();
                if (transfer->done.load(std::memory_order_acquire)) break;
                (void)channel_.wait(listener_->event, ticket, Deadline::never());
            }
        }
        if (in.head.fingerprint != out.head.fingerprint) throw Error(TUTTI_ERR_MISMATCH, "no");
    }

    Channel& channel_;
    uint64_t sequence_ = 0;
    std::shared_ptr<Listener> listener_ = std::make_shared<Listener>();
};

using Open = std::unique_ptr<Channel>(Membership& membership, const Deadline& deadline);

void be_rank(Open* open, const std::string& path, int rank, int rounds, int swaps) {
    const Deadline deadline = Deadline::after_ms(60'000);
    std::vector<int> all(size_t{2});
    std::iota(all.begin(), all.end(), 0);
    Membership membership(bootstrap_processes(make_file_store(path, 2), rank, 2, "", deadline), 0,
                          std::move(all));
    const auto channel = open(membership, deadline);
    Bench bench(*channel);
    std::array<std::vector<double>, Bench::ways> times;
    for (int round = 0; round < rounds; ++round) {
        for (const auto way : {Bench::Bare, Bench::Compared, Bench::Exchanged}) {
            times[way].push_back(bench.time(way, swaps));
        }
    }
    for (auto& one : times) std::ranges::sort(one);
    const auto median = [&](Bench::Way way) { return times[way][times[way].size() / 2]; };
    const auto longer = [&](Bench::Way way) {
        return 100 * (median(way) / median(Bench::Bare) - 1);
    };
    if (rank == 0) {
        std::printf(
            "8 bytes: bare %.2f us, compared %.2f us (%+.1f %%), exchanged %.2f us (%+.1f %%)\n",
            median(Bench::Bare), median(Bench::Compared), longer(Bench::Compared),
            median(Bench::Exchanged), longer(Bench::Exchanged));
    }
    channel->leave();
}

}  // namespace

int main(int count, char** arguments) {
    const auto number = [&](int index, long otherwise) {
        return static_cast<int>(count > index ? std::strtol(arguments[index], nullptr, 10)
                                              : otherwise);
    };
    const std::string transport = count > 1 ? arguments[1] : "tcp";
    if (transport != "tcp" && transport != "gloo") {
        std::fprintf(stderr, "usage: fingerprint_bench [tcp|gloo [ROUNDS [SWAPS]]]\n");
        return 2;
    }
    Open* const open = transport == "tcp" ? tcp::open : gloo_channel::open;
    const int rounds = number(2, 101);
    const int swaps = number(3, 500);
    ::setenv("TUTTI_HEARTBEAT_TIMEOUT_MS", "0", 1);
    char folder[] = "/tmp/tutti-bench-XXXXXX";
    if (mkdtemp(folder) == nullptr) return 1;
    const std::string path = cat(folder, "/store");
    if (fork() == 0) {
        be_rank(open, path, 1, rounds, swaps);
        std::exit(0);
    }
    be_rank(open, path, 0, rounds, swaps);
    int status = 0;
    ::wait(&status);
    ::unlink(path.c_str());
    ::rmdir(folder);
    return status == 0 ? 0 : 1;
}
