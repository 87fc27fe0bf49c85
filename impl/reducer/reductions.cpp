#include "reductions.hpp"

#include <utility>

#include "quantised.hpp"
#include "short_floats.hpp"

namespace tutti {

Reductions::Reductions(const ReducerModel& model, Buckets& buckets, const DeviceWaits& waits)
    : model_(model), memory_(buckets.memory()), waits_(waits) {
    if (model.options.keep_micro_batches == 0) {
        current_ = all_reducing();
        return;
    }
    auto kept = std::make_unique<MicroBatches>(model.group, model.options, memory_.data(),
                                               buckets.memory_size());
    micro_batches_ = kept.get();
    current_ = std::move(kept);
}

std::unique_ptr<BucketReduction> Reductions::on_cpu(
    std::unique_ptr<BucketReduction> reduction) const {
    if (!memory_.is_on_device()) return reduction;
    const auto await = [&waits = waits_](const device::EventPointer& event) {
        waits.await({event, {}});
    };
    return std::make_unique<ThroughCpu>(std::move(reduction), memory_, await);
}

std::unique_ptr<BucketReduction> Reductions::all_reducing() const {
    auto all_reducing = std::make_unique<AllReducing>(model_.group, model_.options);
    if (model_.options.predivide == 1) return all_reducing;
    return on_cpu(std::move(all_reducing));
}

std::unique_ptr<BucketReduction> Reductions::hooked(Hooked::Hook hook) const {
    if (!hook) return all_reducing();
    return std::make_unique<Hooked>(std::move(hook));
}

std::unique_ptr<BucketReduction> Reductions::compressing(Compression compression) const {
    if (compression == Compression::None) return all_reducing();
    int64_t most = 0;  // also of buckets to come
    for (const Parameter& one : model_.parameters) {
        most += floats_of({nullptr, one.count, one.dtype});
    }
    const auto& [group, parameters, options] = model_;
    if (compression == Compression::Quantised) {
        return on_cpu(std::make_unique<Quantised>(group, options, most));
    }
    const auto dtype = compression == Compression::Float16 ? TUTTI_FLOAT16 : TUTTI_BFLOAT16;
    return on_cpu(std::make_unique<ShortFloats>(group, options, dtype, most));
}

std::unique_ptr<BucketReduction> Reductions::power_sgd(const PowerSgdOptions& options,
                                                       const std::atomic<uint8_t>* used) const {
    return on_cpu(
        std::make_unique<PowerSgd>(model_.group, model_.options, options, model_.parameters, used));
}

std::unique_ptr<BucketReduction> Reductions::use(std::unique_ptr<BucketReduction> next) {
    communicated_before_ += current_->communicated();
    return std::exchange(current_, std::move(next));
}

}  // namespace tutti
