// One rank of each host, or several for long data, each with its part, combines what the host's
// ranks bring for every rank, and then with the other hosts' what is for this host; whose ranks get
// their pieces from there.
#include "collectives.hpp"
#include "lanes.hpp"
#include "table.hpp"

namespace tutti::hierarchy {

namespace {

class ReduceScatterOverHosts {
public:
    ReduceScatterOverHosts(const Trip& trip, std::span<const ConstBytes> inputs, Bytes output,
                           const Reduction& reduction, bool is_whole)
        : trip_(trip),
          hosts_(trip.hosts),
          inputs_(inputs),
          output_(output),
          reduction_(reduction),
          is_whole_(is_whole),
          lanes_(lanes_for(algorithm::total_size(inputs), hosts_.fewest())),
          speaks_(hosts_.place() < lanes_) {}

    void run() {
        for (int host = 0; host < hosts_.count(); ++host) combine_for(host);
        if (speaks_) across();
        deliver();
        reduction_.finish(output_, hosts_.ranks());
    }

private:
    [[nodiscard]] std::vector<ConstBytes> column_of(int host, int lane) const {
        return column(hosts_, host, lane, lanes_, inputs_);
    }

    // What this host brings for the ranks of that one: this rank's lane of it.
    void combine_for(int host) {
        size_t bytes = 0;
        for (const ConstBytes& piece : column_of(host, hosts_.place())) bytes += piece.size();
        Block& room = sums_.emplace_back(speaks_ ? bytes : 0);
        Bytes left{room.data(), speaks_ ? bytes : 0};
        const auto next = [&](size_t length) {
            const Bytes piece = speaks_ ? left.first(length) : Bytes{};
            left = left.subspan(piece.size());
            return piece;
        };
        if (lanes_ == 1) {
            for (const ConstBytes& piece : runs(hosts_, host, is_whole_, inputs_)) {
                reduce_inside(trip_, piece, next(piece.size()), 0, inside(reduction_));
            }
            return;
        }
        for (size_t index = 0; index < rows(hosts_, host, lanes_); ++index) {
            const auto pieces = row(hosts_, host, index, lanes_, inputs_);
            const size_t length = pieces[static_cast<size_t>(hosts_.place())].size();
            reduce_scatter_inside(trip_, pieces, next(length), inside(reduction_));
        }
    }

    [[nodiscard]] Bytes sum_for(int host) const {
        const Block& room = sums_[static_cast<size_t>(host)];
        return {room.data(), room.size()};
    }

    // All hosts' sums for this one, in place.
    void across() {
        std::vector<ConstBytes> inputs;
        for (int host = 0; host < hosts_.count(); ++host) inputs.emplace_back(sum_for(host));
        Exchange exchange = trip_.between(hosts_.lane(hosts_.place()));
        algorithm::reduce_scatter(exchange, inputs, sum_for(hosts_.host()), between(reduction_));
    }

    // To every rank of this host its piece, from the one that has it.
    void deliver() {
        const size_t places = hosts_.here().size();
        const auto place = static_cast<size_t>(hosts_.place());
        const auto lanes = static_cast<size_t>(lanes_);
        if (places <= lanes) return copy(output_, sum_for(hosts_.host()));
        for (size_t lane = 0; lane < lanes; ++lane) {
            const auto pieces = column_of(hosts_.host(), static_cast<int>(lane));
            std::vector<ConstBytes> sums(places);
            size_t at = 0;
            size_t longest = 0;
            for (size_t index = 0; index < pieces.size(); ++index) {
                const size_t length = pieces[index].size();
                longest = std::max(longest, length);
                if (lane != place) continue;
                sums[lane + index * lanes] = sum_for(hosts_.host()).subspan(at, length);
                at += length;
            }
            const Bytes output = place % lanes == lane ? output_ : Bytes{};
            scatter_inside(trip_, sums, output, longest, static_cast<int>(lane));
        }
    }

    const Trip& trip_;
    const Hosts& hosts_;
    const std::span<const ConstBytes> inputs_;
    const Bytes output_;
    const Reduction reduction_;
    const bool is_whole_;
    const int lanes_;
    const bool speaks_;
    std::vector<Block> sums_;  // by host
};

}  // namespace

void reduce_scatter(const Trip& trip, std::span<const ConstBytes> inputs, Bytes output,
                    const Reduction& reduction, bool is_whole) {
    ReduceScatterOverHosts(trip, inputs, output, reduction, is_whole).run();
}

}  // namespace tutti::hierarchy
