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
    ReduceScatterOverHosts(const CallContext& context, std::span<const ConstBytes> inputs,
                           Bytes output, const Reduction& reduction, bool is_whole)
        : context_(context),
          hosts_(context.hosts),
          inputs_(inputs),
          output_(output),
          reduction_(reduction),
          inside_(inside(reduction)),
          is_whole_(is_whole),
          lanes_(lanes_for(algorithm::total_size(inputs), hosts_.fewest())),
          speaks_(hosts_.local_rank() < lanes_) {}

    void run() {
        for (int host = 0; host < hosts_.count(); ++host) combine_for(host);
        if (speaks_) across();
        deliver();
        if (!inside_.is_partial) reduction_.finish(output_, hosts_.ranks());
    }

private:
    [[nodiscard]] std::vector<ConstBytes> column_of(int host, int lane) const {
        return column(hosts_, host, lane, lanes_, inputs_);
    }

    // Combines this host's contributions for the ranks of that one: this rank's lane of them.
    void combine_for(int host) {
        size_t bytes = 0;
        for (const ConstBytes& piece : column_of(host, hosts_.local_rank())) {
            bytes += inside_.combined_size(piece.size());
        }
        Block& room = sums_.emplace_back(speaks_ ? bytes : 0);
        Bytes left{room.data(), speaks_ ? bytes : 0};
        const auto next = [&](size_t length) {
            const Bytes piece = speaks_ ? left.first(inside_.combined_size(length)) : Bytes{};
            left = left.subspan(piece.size());
            return piece;
        };
        if (lanes_ == 1) {
            for (const ConstBytes& piece : runs(hosts_, host, is_whole_, inputs_)) {
                reduce_inside(context_, piece, next(piece.size()), 0, inside_);
            }
            return;
        }
        for (size_t index = 0; index < rows(hosts_, host, lanes_); ++index) {
            const auto pieces = row(hosts_, host, index, lanes_, inputs_);
            const size_t length = pieces[static_cast<size_t>(hosts_.local_rank())].size();
            reduce_scatter_inside(context_, pieces, next(length), inside_);
        }
    }

    [[nodiscard]] Bytes sum_for(int host) const {
        const Block& room = sums_[static_cast<size_t>(host)];
        return {room.data(), room.size()};
    }

    // All hosts' sums for this one.
    void across() {
        std::vector<ConstBytes> inputs;
        for (int host = 0; host < hosts_.count(); ++host) inputs.emplace_back(sum_for(host));
        Exchange exchange = context_.between(hosts_.lane(hosts_.local_rank()));
        result_ = sum_for(hosts_.host());
        algorithm::reduce_scatter(exchange, inputs, result_, between(reduction_));
        if (!inside_.is_partial) return;
        const ConstBytes sums = result_;
        rounded_.grow(sums.size() / sizeof(float) * reduction_.element());
        result_ = {rounded_.data(), rounded_.size()};
        reduction_.round(result_, sums, hosts_.ranks());
    }

    // To every rank of this host its piece, from the one that has it.
    void deliver() {
        const size_t places = hosts_.here().size();
        const auto local_rank = static_cast<size_t>(hosts_.local_rank());
        const auto lanes = static_cast<size_t>(lanes_);
        if (places <= lanes) return copy(output_, result_);
        for (size_t lane = 0; lane < lanes; ++lane) {
            const auto pieces = column_of(hosts_.host(), static_cast<int>(lane));
            std::vector<ConstBytes> sums(places);
            size_t at = 0;
            size_t longest = 0;
            for (size_t index = 0; index < pieces.size(); ++index) {
                const size_t length = pieces[index].size();
                longest = std::max(longest, length);
                if (lane != local_rank) continue;
                sums[lane + index * lanes] = result_.subspan(at, length);
                at += length;
            }
            const Bytes output = local_rank % lanes == lane ? output_ : Bytes{};
            scatter_inside(context_, sums, output, longest, static_cast<int>(lane));
        }
    }

    const CallContext& context_;
    const Hosts& hosts_;
    const std::span<const ConstBytes> inputs_;
    const Bytes output_;
    const Reduction reduction_;
    const Reduction inside_;
    const bool is_whole_;
    const int lanes_;
    const bool speaks_;
    std::vector<Block> sums_;  // by host
    Block rounded_;
    Bytes result_;  // for this host, if this rank speaks
};

}  // namespace

void reduce_scatter(const CallContext& context, std::span<const ConstBytes> inputs, Bytes output,
                    const Reduction& reduction, bool is_whole) {
    ReduceScatterOverHosts(context, inputs, output, reduction, is_whole).run();
}

}  // namespace tutti::hierarchy
