#include "facts.hpp"

#include <array>

#include "base/debug_level.hpp"
#include "base/environment.hpp"
#include "base/one_line.hpp"

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

int64_t size_of(const Parameters& parameters) {
    size_t size = 0;
    for (const Parameter& one : parameters) size += one.size();
    return static_cast<int64_t>(size);
}

// The parameters have one device. As in torch, nothing on the CPU.
std::string device_of(const Parameters& parameters) {
    const Device& device = parameters.front().device;
    return device.type == TUTTI_CPU ? "" : cat(device.index);
}

std::string text_of(bool value) {
    return value ? "1" : "0";
}
std::string text_of(int64_t value) {
    return cat(value);
}
std::string text_of(const std::string& value) {
    return value;
}

}  // namespace

Facts facts_of_environment() {
    constexpr std::array<const char*, 3> levels{"OFF", "INFO", "DETAIL"};
    const auto of = [](const std::optional<std::string>& value) {
        return one_line(value.value_or("N/A"));  // torch's word
    };
    return {{"cuda_visible_devices", of(environment("CUDA_VISIBLE_DEVICES"))},
            {"master_addr", of(environment("MASTER_ADDR"))},
            {"master_port", of(environment("MASTER_PORT"))},
            {"gloo_socket_ifname", of(environment("GLOO_SOCKET_IFNAME"))},
            {"nccl_debug", of(environment("NCCL_DEBUG"))},
            {"nccl_ib_timeout", of(environment("NCCL_IB_TIMEOUT"))},
            {"nccl_nthreads", of(environment("NCCL_NTHREADS"))},
            {"nccl_socket_ifname", of(environment("NCCL_SOCKET_IFNAME"))},
            {"torch_distributed_debug", levels[static_cast<size_t>(debug_level())]}};
}

Facts facts_of_model(const ReducerModel& model, const std::vector<int64_t>& bucket_sizes) {
    const auto& [group, parameters, order, options] = model;
    return {{"bucket_cap_bytes", static_cast<int64_t>(options.bucket_cap)},
            {"first_bucket_cap_bytes", static_cast<int64_t>(options.first_bucket_cap)},
            {"find_unused_parameters", options.find_unused_parameters},
            {"gradient_as_bucket_view", true},
            {"is_multi_device_module", false},
            {"num_parameter_tensors", static_cast<int64_t>(parameters.size())},
            {"rank", int64_t{group->rank()}},
            {"static_graph", options.static_graph},
            {"total_parameter_size_bytes", size_of(parameters)},
            {"world_size", int64_t{group->size()}},
            {"backend_name", std::string(group->backend_name())},
            {"bucket_sizes", bucket_sizes},
            {"device_ids", device_of(parameters)},
            {"dtypes", dtypes_of(parameters)}};
}

std::string text_of(const std::vector<int64_t>& numbers) {
    std::string text;
    for (const int64_t one : numbers) text += cat(text.empty() ? "" : ", ", one);
    return text;
}

std::string text_of(const Facts& facts) {
    std::string text;
    for (const auto& [key, value] : facts) {
        const auto shown = std::visit([](const auto& one) { return text_of(one); }, value);
        text += cat(text.empty() ? "" : "; ", key, ": ", shown);
    }
    return text;
}

}  // namespace tutti
