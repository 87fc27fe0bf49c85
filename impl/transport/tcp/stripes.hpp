// The further connections to one rank, beside the first one. The lock of the pool guards them;
// nothing here waits.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frame.hpp"
#include "link_owner.hpp"
#include "stripe.hpp"

namespace tutti::tcp {

class Stripes {
public:
    // The owner hears of each socket before it is closed.
    Stripes(int peer, LinkOwner& owner) : peer_(peer), owner_(owner) {}

    // Its socket, or -1: there are enough.
    int add(net::Socket socket, const std::optional<membership::Token>& proof, StripeOwner& owner);
    // The one added last. Its socket was not watched.
    void drop_last() noexcept;

    [[nodiscard]] const std::vector<std::unique_ptr<Stripe>>& all() const { return stripes_; }
    [[nodiscard]] bool has_usable() const {
        return std::ranges::any_of(stripes_, &Stripe::is_usable);
    }
    // The length of the parts of long data: short ones over several connections.
    [[nodiscard]] size_t max_part() const { return has_usable() ? part_bytes : long_part_bytes; }
    [[nodiscard]] bool has_output() const {
        return std::ranges::any_of(stripes_, &Stripe::has_output);
    }
    // The other side may still send something on one of them.
    [[nodiscard]] bool may_receive() const;

    // Each sends what it can of one part. True: one has moved.
    bool send();
    // Whether they are to be looked at, which costs as much as another connection does.
    [[nodiscard]] bool should_look(bool awaits_parts) {
        return !stripes_.empty() && is_due(awaits_parts);
    }
    bool receive();
    // The fault of one with which parts may be lost; nothing: there is none.
    [[nodiscard]] std::optional<std::string> find_loss() const;
    // Closes those that broke without a loss.
    void close_broken();
    void close_all() noexcept;
    // None of them is calling its owner: those that were closed go.
    void clear_closed() noexcept { closed_.clear(); }
    // The data that are being sent have moved.
    void move_data(const Divided& of, const std::byte* from, const std::byte* to);

private:
    void close(std::unique_ptr<Stripe> stripe) noexcept;
    [[nodiscard]] bool is_due(bool awaits_parts);

    const int peer_;
    LinkOwner& owner_;
    std::vector<std::unique_ptr<Stripe>> stripes_;
    std::vector<std::unique_ptr<Stripe>> closed_;  // one of which may be calling its owner
    int looks_ = 0;                                // since they were looked at
};

}  // namespace tutti::tcp
