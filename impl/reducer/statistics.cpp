#include "statistics.hpp"

#include <string>
#include <vector>

#include "base/debug_level.hpp"
#include "base/log.hpp"
#include "object/builder.hpp"

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

void Statistics::bucket_is_reduced(size_t index) {
    gradient_bytes_ += static_cast<int64_t>(buckets_.layout().buckets()[index].size());
}

void Statistics::pass_is_over() {
    ++passes_;
    timing_.add_pass();
    log_pass();
}

std::shared_ptr<const Object> Statistics::map() const {
    const auto& [group, parameters, order, options] = model_;
    Map map;
    map.put("world_size", int64_t{group->size()});
    map.put("rank", int64_t{group->rank()});
    map.put("backend_name", std::string(group->backend_name()));
    map.put("iteration", passes_);
    map.put("num_parameter_tensors", static_cast<int64_t>(parameters.size()));
    map.put("total_parameter_size_bytes", size_of(parameters));
    map.put("dtypes", dtypes_of(parameters));
    map.put("bucket_cap_bytes", static_cast<int64_t>(options.bucket_cap));
    map.put("first_bucket_cap_bytes", static_cast<int64_t>(options.first_bucket_cap));
    map.put("find_unused_parameters", options.find_unused_parameters);
    map.put("static_graph", options.static_graph);
    map.put("bucket_sizes", buckets_.first_sizes());
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
    const auto& [group, parameters, order, options] = model_;
    log(LogLevel::Info, "[Rank ", group->rank(),
        "]: DDP Initialized with: bucket_cap_bytes: ", options.bucket_cap,
        "; find_unused_parameters: ", options.find_unused_parameters ? 1 : 0,
        "; gradient_as_bucket_view: 1; iteration: 0; num_parameter_tensors: ", parameters.size(),
        "; rank: ", group->rank(), "; static_graph: ", options.static_graph ? 1 : 0,
        "; total_parameter_size_bytes: ", size_of(parameters), "; world_size: ", group->size(),
        "; backend_name: ", group->backend_name(),
        "; bucket_sizes: ", text_of(buckets_.first_sizes()), "; dtypes: ", dtypes_of(parameters));
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
