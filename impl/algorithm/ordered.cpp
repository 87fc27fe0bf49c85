// A part is combined by its owner, piece by piece: while one piece is combined the next one comes,
// so that large data take no more memory than small ones. On the thread of the call.
#include "ordered.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "algorithm.hpp"
#include "base/fault_point.hpp"

namespace tutti::algorithm {

namespace {

constexpr size_t banks = 2;                    // of room: one is combined, one is filled
constexpr size_t max_room = 16 * 1024 * 1024;  // bytes, of both, unless pieces were too short
constexpr size_t min_piece = 4 * 1024;
constexpr size_t whole_elements = 64;

// The same on all ranks, for they cut their messages by it.
size_t piece_length(size_t addends) {
    const size_t length = max_room / banks / addends / whole_elements * whole_elements;
    return std::clamp(length, min_piece, segment_bytes);
}

class AtOwner {
public:
    AtOwner(Exchange& exchange, std::span<const Addends> inputs, std::span<const size_t> counts,
            Bytes output, const Reduction& reduction)
        : exchange_(exchange),
          inputs_(inputs),
          counts_(counts),
          output_(output),
          reduction_(reduction),
          own_(static_cast<size_t>(exchange.rank())),
          all_(std::accumulate(counts.begin(), counts.end(), size_t{0})),
          length_(piece_length(all_)),
          pieces_(pieces_of(output.size(), length_)) {
        const size_t longest = std::min(length_, output.size());
        for (size_t bank = 0; bank < std::min(banks, pieces_); ++bank) {
            rooms_[bank] = exchange.room((all_ - counts[own_]) * longest);
        }
    }

    void run() {
        for (size_t index = 0; index < std::min(banks, pieces_); ++index) receive(index);
        send();
        for (size_t index = 0; index < pieces_; ++index) {
            for (const Exchange::Ticket ticket : arriving_[index % banks]) exchange_.wait(ticket);
            TUTTI_FAULT_POINT("ordered.piece");
            combine(index);
            if (index + banks < pieces_) receive(index + banks);
        }
    }

private:
    // Receives this piece of every rank, one after the other.
    void receive(size_t index) {
        const size_t bytes = piece_of(output_, index, length_).size();
        auto& tickets = arriving_[index % banks];
        tickets.clear();
        size_t place = 0;
        for (size_t source = 0; source < counts_.size(); ++source) {
            for (size_t i = 0; source != own_ && i < counts_[source]; ++i, ++place) {
                tickets.push_back(
                    exchange_.receive(static_cast<int>(source), room(index, place, bytes)));
            }
        }
    }

    void send() {
        size_t most = 0;
        for (const Addends& part : inputs_) most = std::max(most, pieces_in(part));
        for (size_t index = 0; index < most; ++index) {
            for (int distance = 1; distance < exchange_.size(); ++distance) {
                const int target = around(exchange_.rank(), distance, exchange_.size());
                const Addends& part = inputs_[static_cast<size_t>(target)];
                if (index >= pieces_in(part)) continue;
                for (const ConstBytes addend : part) {
                    exchange_.send(target, piece_of(addend, index, length_));
                }
            }
        }
    }

    void combine(size_t index) {
        const Bytes out = piece_of(output_, index, length_);
        std::vector<const void*> all;
        all.reserve(all_);
        size_t place = 0;
        for (size_t source = 0; source < counts_.size(); ++source) {
            for (size_t i = 0; i < counts_[source]; ++i) {
                all.push_back(source == own_ ? piece_of(inputs_[own_][i], index, length_).data()
                                             : room(index, place++, out.size()).data());
            }
        }
        reduction_.combine_all(out, all, Stores::Ordinary);
    }

    [[nodiscard]] size_t pieces_in(const Addends& part) const {
        return part.empty() ? 0 : pieces_of(part.front().size(), length_);
    }
    [[nodiscard]] Bytes room(size_t index, size_t place, size_t bytes) const {
        return rooms_[index % banks].subspan(place * bytes, bytes);
    }

    Exchange& exchange_;
    const std::span<const Addends> inputs_;
    const std::span<const size_t> counts_;
    const Bytes output_;
    const Reduction& reduction_;
    const size_t own_;
    const size_t all_;  // addends
    const size_t length_;
    const size_t pieces_;
    std::array<Bytes, banks> rooms_;
    std::array<std::vector<Exchange::Ticket>, banks> arriving_;
};

}  // namespace

void combine_at_owners(Exchange& exchange, std::span<const Addends> inputs,
                       std::span<const size_t> counts, Bytes output, const Reduction& reduction) {
    AtOwner(exchange, inputs, counts, output, reduction).run();
}

void combine_everywhere(Exchange& exchange, std::span<const ConstBytes> inputs,
                        std::span<const size_t> counts, Bytes output, const Reduction& reduction) {
    const size_t bytes = output.size();
    std::vector<Bytes> parts;
    std::vector<const void*> all;
    for (const size_t count : counts) {
        parts.push_back(exchange.room(count * bytes));
        for (size_t i = 0; i < count; ++i) all.push_back(parts.back().data() + i * bytes);
    }
    const Bytes mine = parts[static_cast<size_t>(exchange.rank())];
    for (size_t i = 0; i < inputs.size(); ++i) copy(mine.subspan(i * bytes, bytes), inputs[i]);
    bruck_all_gather(exchange, parts);
    reduction.combine_all(output, all, Stores::Ordinary);
}

}  // namespace tutti::algorithm
