#include "quantised.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "short_floats.hpp"

namespace tutti {

namespace {

constexpr double levels = 255;

// The floats of a view, one at a time, whatever their length.
class Floats {
public:
    explicit Floats(const View& of)
        : data_(static_cast<std::byte*>(of.data)),
          is_double_(of.dtype == TUTTI_FLOAT64 || of.dtype == TUTTI_COMPLEX128),
          count_(static_cast<size_t>(floats_of(of))) {}

    [[nodiscard]] size_t count() const { return count_; }
    [[nodiscard]] double get(size_t at) const {
        return is_double_ ? read<double>(at) : read<float>(at);
    }
    void set(size_t at, double number) const {
        if (is_double_) return write(at, number);
        write(at, static_cast<float>(number));
    }

private:
    template <typename Number>
    [[nodiscard]] Number read(size_t at) const {
        Number number;
        std::memcpy(&number, data_ + at * sizeof number, sizeof number);
        return number;
    }
    template <typename Number>
    void write(size_t at, Number number) const {
        std::memcpy(data_ + at * sizeof number, &number, sizeof number);
    }

    std::byte* const data_;
    const bool is_double_;
    const size_t count_;
};

}  // namespace

Quantised::Quantised(std::shared_ptr<Group> group, const ReducerOptions& options, int64_t most)
    : group_(std::move(group)),
      averaging_(options, group_->size()),
      adds_(options.sum),
      own_(*group_, static_cast<size_t>(most)),
      all_(*group_, static_cast<size_t>(most) * static_cast<size_t>(group_->size())),
      scales_(static_cast<size_t>(group_->size())) {}

void Quantised::exchange(int64_t count, const Scale& own) {
    const View scales{scales_.data(), 2 * int64_t{group_->size()}, TUTTI_FLOAT64};
    group_->run(AllGatherIntoTensor{ConstView(&own, 2, TUTTI_FLOAT64), scales}, 0);
    const View numbers{own_.data(), count, TUTTI_UINT8};
    const View all{all_.data(), count * group_->size(), TUTTI_UINT8};
    group_->run(AllGatherIntoTensor{numbers, all}, 0);
    this->count(numbers);
    this->count({nullptr, 2, TUTTI_FLOAT64});
}

void Quantised::run(const GradientBucket& bucket) {
    const View& gradients = bucket.gradients;
    if (!is_shortened(gradients.dtype)) {
        averaging_.run(*group_, gradients);
        return count(gradients);
    }
    const Floats floats(gradients);
    if (floats.count() == 0) return;
    double least = std::numeric_limits<double>::infinity();
    double greatest = -least;
    bool is_finite = true;
    for (size_t at = 0; at < floats.count(); ++at) {
        const double number = floats.get(at);
        is_finite = is_finite && std::isfinite(number);
        least = std::min(least, number);
        greatest = std::max(greatest, number);
    }
    const double step = is_finite ? greatest / levels - least / levels : NAN;
    for (size_t at = 0; at < floats.count(); ++at) {
        const double level = step > 0 ? std::nearbyint((floats.get(at) - least) / step) : 0;
        own_.data()[at] = static_cast<std::byte>(std::clamp(level, 0.0, levels));
    }
    exchange(static_cast<int64_t>(floats.count()), {step, least});
    // In the order of the ranks: the same bits everywhere.
    for (size_t at = 0; at < floats.count(); ++at) {
        double sum = 0;
        for (size_t rank = 0; rank < scales_.size(); ++rank) {
            const auto level = static_cast<double>(all_.data()[rank * floats.count() + at]);
            sum += scales_[rank].least + level * scales_[rank].step;
        }
        floats.set(at, adds_ ? sum : sum / static_cast<double>(scales_.size()));
    }
}

}  // namespace tutti
