#include "stripes.hpp"

#include <algorithm>
#include <utility>

#include "base/log.hpp"
#include "transport/ways.hpp"

namespace tutti::tcp {

namespace {

constexpr size_t max_stripes = FurtherConnections::most - 1;
constexpr int looks_without_stripes = 16;  // while nothing is awaited on them

}  // namespace

int Stripes::add(net::Socket socket, const std::optional<membership::Token>& proof,
                 StripeOwner& owner) {
    closed_.reserve(2 * max_stripes);  // close() must not fail
    if (stripes_.size() + closed_.size() >= max_stripes) return -1;
    stripes_.push_back(std::make_unique<Stripe>(std::move(socket), proof, owner));
    return stripes_.back()->socket();
}

void Stripes::drop_last() noexcept {
    close(std::move(stripes_.back()));
    stripes_.pop_back();
}

bool Stripes::may_receive() const {
    return std::ranges::any_of(stripes_, [](const auto& one) { return !one->has_ended(); });
}

// The link may close all of them while one calls it.
bool Stripes::send() {
    bool has_moved = false;
    for (size_t i = 0; i < stripes_.size(); ++i) has_moved |= stripes_[i]->send();
    return has_moved;
}

bool Stripes::receive() {
    bool has_moved = false;
    for (size_t i = 0; i < stripes_.size(); ++i) has_moved |= stripes_[i]->receive();
    return has_moved;
}

// Looking is of use only where parts may come; but one that is closed must be noticed at some time.
bool Stripes::is_due(bool awaits_parts) {
    if (++looks_ < looks_without_stripes && !awaits_parts &&
        std::ranges::all_of(stripes_, &Stripe::is_usable)) {
        return false;
    }
    looks_ = 0;
    return true;
}

// A stripe that was never proved is no loss, nor one that ended between two parts: the rank leaves.
std::optional<std::string> Stripes::find_loss() const {
    const auto is_lost = [](const auto& one) { return one->is_broken() && one->is_proved(); };
    const auto lost = std::ranges::find_if(stripes_, is_lost);
    if (lost == stripes_.end()) return std::nullopt;
    return (*lost)->fault();
}

void Stripes::close_broken() {
    const auto broken = std::stable_partition(stripes_.begin(), stripes_.end(),
                                              [](const auto& one) { return !one->is_broken(); });
    for (auto one = broken; one != stripes_.end(); ++one) {
        log(LogLevel::Debug, "tcp: a further connection to rank ", peer_, ": ", (*one)->fault());
        close(std::move(*one));
    }
    stripes_.erase(broken, stripes_.end());
}

void Stripes::close_all() noexcept {
    for (auto& stripe : std::exchange(stripes_, {})) close(std::move(stripe));
}

// It may be calling its owner.
void Stripes::close(std::unique_ptr<Stripe> stripe) noexcept {
    owner_.closes(stripe->socket());
    stripe->close();
    closed_.push_back(std::move(stripe));
}

void Stripes::move_data(const Divided& of, const std::byte* from, const std::byte* to) {
    for (const auto& stripe : stripes_) stripe->move_data(of, from, to);
}

}  // namespace tutti::tcp
