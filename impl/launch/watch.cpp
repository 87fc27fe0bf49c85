// The watch over an attempt. Main thread, and a thread of its own.
#include "watch.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <span>
#include <utility>

#include "base/resource_limits.hpp"
#include "base/thread.hpp"
#include "keys.hpp"
#include "statement.hpp"

namespace tutti::launch {

Watch::Watch(const BootstrapResult& bootstrap, int attempt, const RendezvousTimes& times,
             bool goes_on)
    : bootstrap_(bootstrap),
      attempt_(attempt),
      times_(times),
      goes_on_(goes_on),
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
        const auto& placement = bootstrap_.placement;
        if (goes_on_) {
            bootstrap_.store->set(keys::finished(attempt_, placement.node_rank), "1", deadline);
        }
        const auto count = bootstrap_.store->add(keys::finished(attempt_), 1, deadline);
        if (count == static_cast<int64_t>(placement.nodes.size())) propose({});
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
    for (size_t index = 0; index < pulses.size(); ++index) {
        Pulse& pulse = pulses[index];
        const auto node = static_cast<int>(index);
        if (pulse.value != values[index]) {
            if (pulse.is_silent) go_on_with(node);
            pulse = {values[index], Deadline::after_ms(times_.lost_ms())};
        } else if (pulse.lost.expired() && !pulse.is_silent) {
            pulse.is_silent = true;
            const auto verdict = loss_of(node);
            if (!goes_on_) return propose(verdict);
            go_on_without(verdict);
        }
    }
    if (goes_on_) end_without_the_silent(pulses);
}

std::string Watch::silence() const {
    return cat("gave no sign of life for ", times_.lost_ms() / 1'000, " s");
}

Verdict Watch::loss_of(int node) const {
    const auto& host = bootstrap_.placement.nodes[static_cast<size_t>(node)].host;
    return {Verdict::Kind::Lost, node, host, 0, cat("node ", node, " (", host, ") ", silence())};
}

// It may not live to make its own statement.
void Watch::go_on_without(const Verdict& loss) {
    Failure failure;
    failure.node = loss.node;
    failure.host = loss.host;
    failure.ending.number = 1;
    failure.time_us = now_us();
    failure.message = silence();
    bootstrap_.store->compare_set(keys::statement(attempt_, loss.node), "",
                                  encode(Statement{true, 0, {failure}}),
                                  Deadline::after_ms(keys::call_timeout_ms));
    tell({true, first_rank_of(loss.node), cat(loss.text, "; the others go on")});
}

void Watch::go_on_with(int node) {
    const auto& host = bootstrap_.placement.nodes[static_cast<size_t>(node)].host;
    bootstrap_.store->delete_key(keys::statement(attempt_, node),
                                 Deadline::after_ms(keys::call_timeout_ms));
    tell({false, first_rank_of(node), cat("node ", node, " (", host, ") is there again")});
}

// If all others have finished.
void Watch::end_without_the_silent(const std::vector<Pulse>& pulses) {
    for (size_t node = 0; node < pulses.size(); ++node) {
        const auto key = keys::finished(attempt_, static_cast<int>(node));
        const auto deadline = Deadline::after_ms(keys::call_timeout_ms);
        if (!pulses[node].is_silent && !bootstrap_.store->check(std::span(&key, 1), deadline)) {
            return;
        }
    }
    propose({});
}

void Watch::tell(News news) {
    const Lock lock(mutex_);
    news_.push_back(std::move(news));
    const uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(known_.get(), &one, sizeof one);
}

std::vector<Watch::News> Watch::take_news() {
    const Lock lock(mutex_);
    if (news_.empty()) return {};
    uint64_t count = 0;
    [[maybe_unused]] const auto read = ::read(known_.get(), &count, sizeof count);
    return std::exchange(news_, {});
}

int Watch::first_rank_of(int node) const {
    int rank = 0;
    for (int before = 0; before < node; ++before) {
        rank += local_size(bootstrap_.placement.nodes[static_cast<size_t>(before)]);
    }
    return rank;
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
