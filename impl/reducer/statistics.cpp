#include "statistics.hpp"

#include <string>
#include <vector>

#include "base/debug_level.hpp"
#include "base/log.hpp"
#include "object/builder.hpp"

namespace tutti {

namespace {

class Map {
public:
    Map() { builder_.map(); }
    void put(const char* key, int64_t value) {
        builder_.copied_string(key);
        builder_.signed_integer(value);
    }
    void put(const char* key, bool value) {
        builder_.copied_string(key);
        builder_.boolean(value);
    }
    void put(const char* key, const std::string& value) {
        builder_.copied_string(key);
        builder_.string(value);
    }
    void put(const char* key, const std::vector<int64_t>& values) {
        builder_.copied_string(key);
        builder_.list(values.size());
        for (const int64_t one : values) builder_.signed_integer(one);
    }
    void put(const Facts& facts) {
        for (const Fact& one : facts) {
            std::visit([&](const auto& value) { put(one.key, value); }, one.value);
        }
    }
    void put(const char* key, const std::vector<std::string>& values) {
        builder_.copied_string(key);
        builder_.list(values.size());
        for (const std::string& one : values) builder_.string(one);
    }
    std::shared_ptr<const Object> finish() {
        builder_.close();
        return builder_.finish();
    }

private:
    Builder builder_;
};

}  // namespace

void Statistics::bucket_is_reduced(size_t index) {
    gradient_bytes_ += static_cast<int64_t>(buckets_.layout().buckets()[index].size());
}

void Statistics::pass_is_over() {
    ++passes_;
    timing_.add_pass();
    log_pass();
}

std::shared_ptr<const Object> Statistics::map() const {
    const Parameters& parameters = model_.parameters;
    Map map;
    map.put(facts_of_model(model_, buckets_.first_sizes()));
    map.put(environment_);
    map.put("iteration", passes_);
    map.put("has_rebuilt_buckets", !buckets_.rebuilt_sizes().empty());
    map.put("rebuilt_bucket_sizes", buckets_.rebuilt_sizes());
    std::vector<std::string> unused;
    size_t unused_size = 0;
    for (size_t i = 0; passes_ > 0 && i < parameters.size(); ++i) {
        if (pass_.is_used(i)) continue;
        unused.push_back(parameters[i].name.empty() ? cat(i) : parameters[i].name);
        unused_size += parameters[i].size();
    }
    map.put("unused_parameter_size", static_cast<int64_t>(unused_size));
    map.put("unused_parameters", unused);
    const MeanTimes times = timing_.means();
    map.put("avg_forward_compute_time", times.forward);
    map.put("avg_backward_compute_time", times.backward);
    map.put("avg_backward_comm_time", times.communication);
    map.put("avg_backward_compute_comm_overlap_time", times.overlap);
    map.put("comm_hook", std::string(reductions_.current().name()));
    map.put("gradient_bytes", gradient_bytes_);
    map.put("communicated_bytes", reductions_.communicated());
    return map.finish();
}

void Statistics::log_start() const {
    if (debug_level() < DebugLevel::Info) return;
    log(LogLevel::Info, "[Rank ", model_.group->rank(),
        "]: DDP Initialized with: iteration: ", passes_, "; ",
        text_of(facts_of_model(model_, buckets_.first_sizes())), "; ", text_of(environment_));
}

// As torch does, it logs the first ten passes, then every hundredth.
void Statistics::log_pass() const {
    if (debug_level() < DebugLevel::Detail || (passes_ > 10 && passes_ % 100 != 0)) return;
    const auto& [group, parameters, order, options] = model_;
    size_t unused_size = 0;
    Indices unused;
    for (size_t i = 0; i < parameters.size(); ++i) {
        if (pass_.is_used(i)) continue;
        unused_size += parameters[i].size();
        unused.push_back(i);
    }
    const MeanTimes times = timing_.means();
    log(LogLevel::Info, "[Rank ", group->rank(), " / ", group->size(), "] Training ", group->name(),
        " unused_parameter_size=", unused_size,
        unused.empty() ? "" : cat("; Unused parameters: ", names_of(parameters, unused)),
        "; Avg forward compute time: ", times.forward,
        "; Avg backward compute time: ", times.backward,
        "; Avg backward comm. time: ", times.communication,
        "; Avg backward comm/comp overlap time: ", times.overlap,
        buckets_.rebuilt_sizes().empty()
            ? ""
            : cat("; Rebuilt bucket sizes: ", text_of(buckets_.rebuilt_sizes())));
}

}  // namespace tutti
