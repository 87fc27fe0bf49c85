#include "reductions.hpp"

#include <utility>

#include "quantised.hpp"
#include "short_floats.hpp"
#include "verification.hpp"

namespace tutti {

Reductions::Reductions(const ReducerModel& model, const Buckets& buckets, const DeviceWaits& waits)
    : model_(model),
      memory_(buckets.memory()),
      memory_size_(buckets.memory_size()),
      waits_(waits),
      make_(model.options.keep_micro_batches == 0 ? all_reducing() : keeping_micro_batches()) {
    current_ = make_();
}

std::unique_ptr<BucketReduction> Reductions::on_cpu(
    std::unique_ptr<BucketReduction> reduction) const {
    if (!memory_.is_on_device()) return reduction;
    const auto await = [&waits = waits_](const device::EventPointer& event) {
        waits.await({event, {}});
    };
    return std::make_unique<ThroughCpu>(std::move(reduction), memory_, await);
}

Reductions::Make Reductions::keeping_micro_batches() {
    return [this] {
        auto kept = std::make_unique<MicroBatches>(model_.group, model_.options, memory_.data(),
                                                   memory_size_);
        micro_batches_ = kept.get();
        return kept;
    };
}

Reductions::Make Reductions::all_reducing() {
    return [this]() -> std::unique_ptr<BucketReduction> {
        auto all_reducing = std::make_unique<AllReducing>(model_.group, model_.options);
        if (model_.options.predivide == 1) return all_reducing;
        return on_cpu(std::move(all_reducing));
    };
}

Reductions::Make Reductions::hooked(Hooked::Hook hook) {
    if (!hook) return all_reducing();
    return [this, hook = std::move(hook)] { return std::make_unique<Hooked>(model_.group, hook); };
}

Reductions::Make Reductions::compressing(Compression compression) {
    if (compression == Compression::None) return all_reducing();
    int64_t most = 0;  // also of buckets to come
    for (const Parameter& one : model_.parameters) {
        most += floats_of({nullptr, one.count, one.dtype});
    }
    return [this, compression, most] {
        const auto& group = model_.group;
        const auto& options = model_.options;
        if (compression == Compression::Quantised) {
            return on_cpu(std::make_unique<Quantised>(group, options, most));
        }
        const auto dtype = compression == Compression::Float16 ? TUTTI_FLOAT16 : TUTTI_BFLOAT16;
        return on_cpu(std::make_unique<ShortFloats>(group, options, dtype, most));
    };
}

Reductions::Make Reductions::power_sgd(const PowerSgdOptions& options,
                                       const std::atomic<uint8_t>* used) {
    return [this, options, used, iteration = std::make_shared<size_t>(0)] {
        compare_power_sgd(*model_.group, model_.parameters, options);
        return on_cpu(std::make_unique<PowerSgd>(model_.group, model_.options, options,
                                                 model_.parameters, used, iteration));
    };
}

Reductions::Way Reductions::use(Way next) {
    communicated_before_ += current_->communicated();
    return {std::exchange(make_, std::move(next.make)),
            std::exchange(current_, std::move(next.made))};
}

}  // namespace tutti
