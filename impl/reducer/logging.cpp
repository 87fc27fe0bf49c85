// The facts that a reducer tells of itself: a map for programs, and torch's lines in the log.
#include <algorithm>
#include <string>

#include "base/debug_level.hpp"
#include "base/log.hpp"
#include "object/builder.hpp"
#include "reducer.hpp"

namespace tutti {

namespace {

std::string dtypes_of(const Parameters& parameters) {
    std::string names;
    std::vector<bool> is_there(std::size(dtypes));
    for (const Parameter& one : parameters) {
        if (is_there[one.dtype]) continue;
        is_there[one.dtype] = true;
        names += cat(names.empty() ? "" : ", ", dtype_name(one.dtype));
    }
    return names;
}

std::string text_of(const std::vector<int64_t>& numbers) {
    std::string text;
    for (const int64_t one : numbers) text += cat(text.empty() ? "" : ", ", one);
    return text;
}

int64_t size_of(const Parameters& parameters) {
    size_t size = 0;
    for (const Parameter& one : parameters) size += one.size();
    return static_cast<int64_t>(size);
}

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

std::shared_ptr<const Object> Reducer::logging_data() const {
    const Lock lock(mutex_);
    Map map;
    map.put("world_size", int64_t{group_->size()});
    map.put("rank", int64_t{group_->rank()});
    map.put("backend_name", std::string(group_->backend_name()));
    map.put("iteration", passes_);
    map.put("num_parameter_tensors", static_cast<int64_t>(parameters_.size()));
    map.put("total_parameter_size_bytes", size_of(parameters_));
    map.put("dtypes", dtypes_of(parameters_));
    map.put("bucket_cap_bytes", static_cast<int64_t>(options_.bucket_cap));
    map.put("first_bucket_cap_bytes", static_cast<int64_t>(options_.first_bucket_cap));
    map.put("find_unused_parameters", options_.find_unused_parameters);
    map.put("static_graph", options_.static_graph);
    map.put("bucket_sizes", first_bucket_sizes_);
    map.put("has_rebuilt_buckets", !rebuilt_bucket_sizes_.empty());
    map.put("rebuilt_bucket_sizes", rebuilt_bucket_sizes_);
    std::vector<std::string> unused;
    size_t unused_size = 0;
    for (size_t i = 0; passes_ > 0 && i < parameters_.size(); ++i) {
        if (used_[i] != 0) continue;
        unused.push_back(parameters_[i].name.empty() ? cat(i) : parameters_[i].name);
        unused_size += parameters_[i].size();
    }
    map.put("unused_parameter_size", static_cast<int64_t>(unused_size));
    map.put("unused_parameters", unused);
    const MeanTimes times = timing_.means();
    map.put("avg_forward_compute_time", times.forward);
    map.put("avg_backward_compute_time", times.backward);
    map.put("avg_backward_comm_time", times.communication);
    map.put("avg_backward_compute_comm_overlap_time", times.overlap);
    map.put("comm_hook", std::string(reduction_->name()));
    map.put("gradient_bytes", gradient_bytes_);
    map.put("communicated_bytes", communicated_before_ + reduction_->communicated());
    return map.finish();
}

void Reducer::log_start() const {
    if (debug_level() < DebugLevel::Info) return;
    log(LogLevel::Info, "[Rank ", group_->rank(),
        "]: DDP Initialized with:", "\nbucket_cap_bytes: ", options_.bucket_cap,
        "\nfind_unused_parameters: ", options_.find_unused_parameters ? 1 : 0,
        "\ngradient_as_bucket_view: 1\niteration: 0\nnum_parameter_tensors: ", parameters_.size(),
        "\nrank: ", group_->rank(), "\nstatic_graph: ", options_.static_graph ? 1 : 0,
        "\ntotal_parameter_size_bytes: ", size_of(parameters_), "\nworld_size: ", group_->size(),
        "\nbackend_name: ", group_->backend_name(),
        "\nbucket_sizes: ", text_of(first_bucket_sizes_), "\ndtypes: ", dtypes_of(parameters_));
}

// As torch does: of the first ten passes, then of every hundredth.
void Reducer::log_pass() const {
    if (debug_level() < DebugLevel::Detail || (passes_ > 10 && passes_ % 100 != 0)) return;
    size_t unused_size = 0;
    Indices unused;
    for (size_t i = 0; i < parameters_.size(); ++i) {
        if (used_[i] != 0) continue;
        unused_size += parameters_[i].size();
        unused.push_back(i);
    }
    const MeanTimes times = timing_.means();
    log(LogLevel::Info, "[Rank ", group_->rank(), " / ", group_->size(), "] Training ",
        group_->name(), " unused_parameter_size=", unused_size,
        unused.empty() ? "" : cat("\nUnused parameters: ", names_of(parameters_, unused)),
        "\nAvg forward compute time: ", times.forward,
        "\nAvg backward compute time: ", times.backward,
        "\nAvg backward comm. time: ", times.communication,
        "\nAvg backward comm/comp overlap time: ", times.overlap,
        rebuilt_bucket_sizes_.empty()
            ? ""
            : cat("\nRebuilt bucket sizes: ", text_of(rebuilt_bucket_sizes_)));
}

}  // namespace tutti
