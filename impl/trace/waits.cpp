#include "waits.hpp"

#include <algorithm>
#include <deque>
#include <utility>

namespace tutti::trace {

void Waits::add(size_t who, const std::vector<size_t>& on, const std::string& where) {
    for (const size_t other : on) {
        if (other != who) of_[who].push_back({other, calls_.size()});
    }
    calls_.push_back(where);
}

std::vector<bool> Waits::reached(const std::vector<size_t>& from) const {
    std::vector<bool> seen(of_.size(), false);
    std::vector<size_t> open = from;
    for (const size_t member : open) seen[member] = true;
    while (!open.empty()) {
        const size_t member = open.back();
        open.pop_back();
        for (const Wait& wait : of_[member]) {
            if (seen[wait.on]) continue;
            seen[wait.on] = true;
            open.push_back(wait.on);
        }
    }
    return seen;
}

// Tarjan's algorithm, without recursion.
class Waits::Components {
public:
    explicit Components(const Waits& waits)
        : of_(waits.of_), order_(of_.size(), 0), low_(of_.size(), 0), component(of_.size(), none) {
        for (size_t member = 0; member < of_.size(); ++member) {
            if (order_[member] == 0) visit(member);
        }
    }

private:
    static constexpr size_t none = SIZE_MAX;
    struct Step {
        size_t member;
        size_t next;  // of its waits
    };

    void enter(size_t member) {
        order_[member] = low_[member] = ++entered_;
        open_.push_back(member);
        steps_.push_back({member, 0});
    }
    void visit(size_t first) {
        enter(first);
        while (!steps_.empty()) {
            Step& step = steps_.back();
            const size_t member = step.member;
            if (step.next == of_[member].size()) {
                leave(member);
                continue;
            }
            const size_t on = of_[member][step.next++].on;
            if (order_[on] == 0) {
                enter(on);
            } else if (component[on] == none) {
                low_[member] = std::min(low_[member], order_[on]);
            }
        }
    }
    void leave(size_t member) {
        steps_.pop_back();
        if (!steps_.empty()) {
            size_t& low = low_[steps_.back().member];
            low = std::min(low, low_[member]);
        }
        if (low_[member] != order_[member]) return;
        size_t last = none;
        do {
            last = open_.back();
            open_.pop_back();
            component[last] = count;
        } while (last != member);
        ++count;
    }

    const std::vector<std::vector<Wait>>& of_;
    std::vector<size_t> order_;
    std::vector<size_t> low_;
    std::vector<size_t> open_;
    std::vector<Step> steps_;
    size_t entered_ = 0;

public:
    std::vector<size_t> component;
    size_t count = 0;
};

void Waits::close() {
    const Components components(*this);
    component_ = components.component;
    std::vector<size_t> sizes(components.count, 0);
    is_circle_.assign(components.count, true);
    for (size_t member = 0; member < of_.size(); ++member) {
        const size_t own = component_[member];
        ++sizes[own];
        for (const Wait& wait : of_[member]) {
            if (component_[wait.on] != own) is_circle_[own] = false;
        }
    }
    for (size_t i = 0; i < sizes.size(); ++i) is_circle_[i] = is_circle_[i] && sizes[i] > 1;
}

std::vector<size_t> Waits::roots(const std::vector<size_t>& from) const {
    const std::vector<bool> seen = reached(from);
    std::vector<size_t> ends;
    std::vector<size_t> circles;
    for (size_t member = 0; member < of_.size(); ++member) {
        if (!seen[member]) continue;
        if (of_[member].empty()) ends.push_back(member);
        if (is_circle_[component_[member]]) circles.push_back(member);
    }
    return ends.empty() ? circles : ends;
}

// The shortest way back to it.
std::vector<Waits::Link> Waits::circle_of(size_t member) const {
    constexpr size_t none = SIZE_MAX;
    std::vector<std::pair<size_t, const Wait*>> came(of_.size(), {none, nullptr});
    std::deque<size_t> open{member};
    while (!open.empty()) {
        const size_t at = open.front();
        open.pop_front();
        for (const Wait& wait : of_[at]) {
            if (came[wait.on].first != none) continue;
            came[wait.on] = {at, &wait};
            if (wait.on != member) {
                open.push_back(wait.on);
                continue;
            }
            std::vector<Link> links;
            for (size_t on = member;;) {
                const auto& [who, how] = came[on];
                links.push_back({who, calls_[how->where]});
                on = who;
                if (on == member) break;
            }
            std::reverse(links.begin(), links.end());
            return links;
        }
    }
    return {};
}

std::vector<std::vector<Waits::Link>> Waits::circles() const {
    std::vector<std::vector<Link>> found;
    std::vector<bool> done(is_circle_.size(), false);
    for (size_t member = 0; member < of_.size(); ++member) {
        const size_t own = component_[member];
        if (done[own] || !is_circle_[own]) continue;
        done[own] = true;
        found.push_back(circle_of(member));
    }
    return found;
}

}  // namespace tutti::trace
