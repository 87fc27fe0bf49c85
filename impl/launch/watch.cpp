// The watch over an attempt. Main thread, and a thread of its own.
#include "watch.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>

#include "base/resource_limits.hpp"
#include "base/thread.hpp"
#include "keys.hpp"

namespace tutti::launch {

Watch::Watch(const BootstrapResult& bootstrap, int attempt, const RendezvousTimes& times)
    : bootstrap_(bootstrap),
      attempt_(attempt),
      times_(times),
      known_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!known_.valid()) {
        throw call_error("eventfd", "cannot make an event", errno);
    }
    if (bootstrap_.placement.nodes.size() > 1) {
        thread_ = start_thread("watch", [this] { run(); });
    }
}

Watch::~Watch() {
    stopping_ = true;
    if (thread_.joinable()) thread_.join();
}

std::optional<Verdict> Watch::verdict() const {
    const Lock lock(mutex_);
    return verdict_;
}

void Watch::raise(Verdict::Kind kind, int signal) {
    if (verdict()) return;
    const auto& placement = bootstrap_.placement;
    const auto& host = placement.nodes[static_cast<size_t>(placement.node_rank)].host;
    try {
        propose({kind, placement.node_rank, host, signal});
    } catch (const std::exception& fault) {
        lose_the_store(fault.what());
    }
}

void Watch::finished() {
    if (verdict()) return;
    try {
        const auto deadline = Deadline::after_ms(times_.lost_ms());
        const auto count = bootstrap_.store->add(keys::finished(attempt_), 1, deadline);
        if (count == static_cast<int64_t>(bootstrap_.placement.nodes.size())) propose({});
    } catch (const std::exception& fault) {
        lose_the_store(fault.what());
    }
}

void Watch::run() {
    std::vector<Pulse> pulses(bootstrap_.placement.nodes.size());
    try {
        while (!stopping_) {
            const auto lost = Deadline::after_ms(times_.lost_ms());
            bootstrap_.store->add(keys::pulse(bootstrap_.placement.node_rank), 1, lost);
            if (bootstrap_.serves) look_at_the_others(pulses);
            try {
                settle(decode_verdict(bootstrap_.store->get(keys::verdict(attempt_),
                                                            Deadline::after_ms(times_.pulse_ms))));
                return;
            } catch (const Error& error) {
                if (error.status().code != TUTTI_ERR_TIMEOUT) throw;
            }
        }
    } catch (const std::exception& fault) {
        lose_the_store(fault.what());
    }
}

void Watch::look_at_the_others(std::vector<Pulse>& pulses) {
    std::vector<std::string> names;
    for (size_t node = 0; node < pulses.size(); ++node) {
        names.push_back(keys::pulse(static_cast<int>(node)));
    }
    const auto values = bootstrap_.store->multi_get(names, Deadline::after_ms(times_.lost_ms()));
    for (size_t node = 0; node < pulses.size(); ++node) {
        Pulse& pulse = pulses[node];
        if (pulse.value != values[node]) {
            pulse = {values[node], Deadline::after_ms(times_.lost_ms())};
        } else if (pulse.lost.expired()) {
            const auto& host = bootstrap_.placement.nodes[node].host;
            const auto text = cat("node ", node, " (", host, ") gave no sign of life for ",
                                  times_.lost_ms() / 1'000, " s");
            propose({Verdict::Kind::Lost, static_cast<int>(node), host, 0, text});
            return;
        }
    }
}

void Watch::propose(const Verdict& verdict) {
    const auto decided = bootstrap_.store->compare_set(keys::verdict(attempt_), "", encode(verdict),
                                                       Deadline::after_ms(keys::call_timeout_ms));
    settle(decode_verdict(decided));
}

void Watch::settle(const Verdict& verdict) {
    const Lock lock(mutex_);
    if (verdict_) return;
    verdict_ = verdict;
    const uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(known_.get(), &one, sizeof one);
}

void Watch::lose_the_store(const char* reason) {
    settle({Verdict::Kind::Lost, -1, "", 0, cat("lost the other nodes: ", reason)});
}

}  // namespace tutti::launch
