// tutti/collectives.h. Any thread.
#include "tutti/collectives.h"

#include <utility>
#include <vector>

#include "arguments.hpp"
#include "buffers.hpp"
#include "guard.hpp"
#include "issue.hpp"
#include "options.hpp"

namespace capi = tutti::capi;

namespace {

using tutti::ConstView;
using tutti::View;
using tutti::Views;

// NULL: this rank's place in the output, if the output is such that there is one. If it is not, the
// check of the call says so.
ConstView read_own(const tutti_buffer* input, const Views& outputs, int rank) {
    if (input != nullptr) return capi::read_buffer(input, "input");
    const auto own = static_cast<size_t>(rank);
    return own < outputs.size() ? outputs[own] : View{};
}

ConstView read_own(const tutti_buffer* input, const View& output, const tutti::Group& group) {
    if (input != nullptr) return capi::read_buffer(input, "input");
    if (output.count % group.size() != 0) {
        capi::refuse("output.count is ", output.count, ", which ", group.size(),
                     " ranks cannot share equally");
    }
    const int64_t count = output.count / group.size();
    return output.part(group.rank() * count, count);
}

tutti::ConstViews as_inputs(const Views& views) {
    return {views.begin(), views.end()};
}

// One for each rank, and not read where there are more. Where there are fewer the check of the call
// says so.
Views read_list(const tutti::Group& group, const tutti_buffer* buffers, int64_t given_count,
                const char* argument, const char* count_argument) {
    const size_t count = capi::read_count(given_count, count_argument);
    if (count > static_cast<size_t>(group.size())) {
        capi::refuse(count_argument, " is ", count, ", but the group has ", group.size(), " ranks");
    }
    return capi::read_buffers(buffers, count, argument);
}

std::vector<int64_t> read_splits(const int64_t* sizes, int64_t count, const char* argument,
                                 int ranks) {
    if (sizes == nullptr && count != 0)
        capi::refuse(argument, " is NULL but has ", count, " sizes");
    if (sizes != nullptr && count != ranks) {
        capi::refuse(argument, " has ", count, " sizes, but the group has ", ranks, " ranks");
    }
    return sizes == nullptr ? std::vector<int64_t>{} : std::vector<int64_t>(sizes, sizes + count);
}

}  // namespace

extern "C" {

void tutti_call_options_init(tutti_call_options* options, size_t size) {
    capi::write_default_options(options, size);
}

tutti_status tutti_broadcast(tutti_group* group, const tutti_buffer* buffer, int32_t group_src,
                             const tutti_call_options* options, tutti_work** work,
                             tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const capi::CallTarget target(group);
        capi::issue(target, tutti::Broadcast{capi::read_buffer(buffer, "buffer"), group_src},
                    options, work);
    });
}

tutti_status tutti_all_reduce(tutti_group* group, const tutti_buffer* input,
                              const tutti_buffer* output, tutti_reduce_op op,
                              const tutti_call_options* options, tutti_work** work,
                              tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const capi::CallTarget target(group);
        const View result = capi::read_buffer(output, "output");
        const ConstView from = input == nullptr ? result : capi::read_buffer(input, "input");
        capi::issue(target, tutti::AllReduce{from, result, op}, options, work);
    });
}

tutti_status tutti_all_reduce_addends(tutti_group* group, const tutti_buffer* inputs,
                                      int64_t input_count, const tutti_buffer* output,
                                      tutti_reduce_op op, const tutti_call_options* options,
                                      tutti_work** work, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const capi::CallTarget target(group);
        constexpr size_t most = tutti::AllReduceAddends::max_inputs;
        const size_t count = capi::read_count(input_count, "input_count");
        if (count > most) capi::refuse("input_count is ", count, ", above ", most);
        const Views addends = capi::read_buffers(inputs, count, "inputs");
        const View result = capi::read_buffer(output, "output");
        capi::issue(target, tutti::AllReduceAddends{as_inputs(addends), result, op}, options, work);
    });
}

tutti_status tutti_reduce(tutti_group* group, const tutti_buffer* input, const tutti_buffer* output,
                          tutti_reduce_op op, int32_t group_dst, const tutti_call_options* options,
                          tutti_work** work, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const capi::CallTarget target(group);
        const bool needs_output = input == nullptr || target->rank() == group_dst;
        View result;
        if (output != nullptr || needs_output) result = capi::read_buffer(output, "output");
        const ConstView from = input == nullptr ? result : capi::read_buffer(input, "input");
        if (output == nullptr) result = {nullptr, from.count, from.dtype, from.device};
        capi::issue(target, tutti::Reduce{from, result, op, group_dst}, options, work);
    });
}

tutti_status tutti_all_gather(tutti_group* group, const tutti_buffer* input,
                              const tutti_buffer* outputs, int64_t output_count,
                              const tutti_call_options* options, tutti_work** work,
                              tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const capi::CallTarget target(group);
        Views results = read_list(*target, outputs, output_count, "outputs", "output_count");
        const ConstView from = read_own(input, results, target->rank());
        capi::issue(target, tutti::AllGather{from, std::move(results)}, options, work);
    });
}

tutti_status tutti_all_gather_into_tensor(tutti_group* group, const tutti_buffer* input,
                                          const tutti_buffer* output,
                                          const tutti_call_options* options, tutti_work** work,
                                          tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const capi::CallTarget target(group);
        const View result = capi::read_buffer(output, "output");
        capi::issue(target, tutti::AllGatherIntoTensor{read_own(input, result, *target), result},
                    options, work);
    });
}

tutti_status tutti_gather(tutti_group* group, const tutti_buffer* input,
                          const tutti_buffer* outputs, int64_t output_count, int32_t group_dst,
                          const tutti_call_options* options, tutti_work** work,
                          tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const capi::CallTarget target(group);
        Views results = read_list(*target, outputs, output_count, "outputs", "output_count");
        if (input == nullptr && target->rank() != group_dst) {
            capi::refuse("input is NULL; only group_dst may leave it out");
        }
        const ConstView from = read_own(input, results, target->rank());
        capi::issue(target, tutti::Gather{from, std::move(results), group_dst}, options, work);
    });
}

tutti_status tutti_scatter(tutti_group* group, const tutti_buffer* inputs, int64_t input_count,
                           const tutti_buffer* output, int32_t group_src,
                           const tutti_call_options* options, tutti_work** work,
                           tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const capi::CallTarget target(group);
        const Views from = read_list(*target, inputs, input_count, "inputs", "input_count");
        const auto own = static_cast<size_t>(target->rank());
        const bool stays = output == nullptr && target->rank() == group_src;
        View result;
        if (!stays) {
            result = capi::read_buffer(output, "output");
        } else if (own < from.size()) {
            result = from[own];
        }
        capi::issue(target, tutti::Scatter{as_inputs(from), result, group_src}, options, work);
    });
}

tutti_status tutti_reduce_scatter(tutti_group* group, const tutti_buffer* inputs,
                                  int64_t input_count, const tutti_buffer* output,
                                  tutti_reduce_op op, const tutti_call_options* options,
                                  tutti_work** work, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const capi::CallTarget target(group);
        const Views from = read_list(*target, inputs, input_count, "inputs", "input_count");
        const View result = capi::read_buffer(output, "output");
        capi::issue(target, tutti::ReduceScatter{as_inputs(from), result, op}, options, work);
    });
}

tutti_status tutti_reduce_scatter_tensor(tutti_group* group, const tutti_buffer* input,
                                         const tutti_buffer* output, tutti_reduce_op op,
                                         const tutti_call_options* options, tutti_work** work,
                                         tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const capi::CallTarget target(group);
        const View from = capi::read_buffer(input, "input");
        const View result = capi::read_buffer(output, "output");
        capi::issue(target, tutti::ReduceScatterTensor{from, result, op}, options, work);
    });
}

tutti_status tutti_all_to_all(tutti_group* group, const tutti_buffer* inputs, int64_t input_count,
                              const tutti_buffer* outputs, int64_t output_count,
                              const tutti_call_options* options, tutti_work** work,
                              tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const capi::CallTarget target(group);
        Views results = read_list(*target, outputs, output_count, "outputs", "output_count");
        const Views given = read_list(*target, inputs, input_count, "inputs", "input_count");
        tutti::ConstViews from = as_inputs(inputs == nullptr ? results : given);
        capi::issue(target, tutti::AllToAll{std::move(from), std::move(results)}, options, work);
    });
}

tutti_status tutti_all_to_all_single(tutti_group* group, const tutti_buffer* input,
                                     const int64_t* input_split_sizes, int64_t input_split_count,
                                     const tutti_buffer* output, const int64_t* output_split_sizes,
                                     int64_t output_split_count, const tutti_call_options* options,
                                     tutti_work** work, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const capi::CallTarget target(group);
        const View result = capi::read_buffer(output, "output");
        const ConstView from = input == nullptr ? result : capi::read_buffer(input, "input");
        tutti::AllToAllSingle call{
            from, result,
            read_splits(input_split_sizes, input_split_count, "input_split_sizes", target->size()),
            read_splits(output_split_sizes, output_split_count, "output_split_sizes",
                        target->size())};
        capi::issue(target, std::move(call), options, work);
    });
}

tutti_status tutti_barrier(tutti_group* group, const tutti_call_options* options, tutti_work** work,
                           tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const capi::CallTarget target(group);
        capi::issue(target, tutti::Barrier{}, options, work);
    });
}

tutti_status tutti_monitored_barrier(tutti_group* group, int32_t wait_all_ranks,
                                     const tutti_call_options* options, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const capi::GroupPin pin = capi::need_group(group);
        capi::check_flag(static_cast<uint32_t>(wait_all_ranks), "wait_all_ranks");
        const tutti_call_options given = capi::read_call_options(options, false);
        capi::refuse_stream(given);
        pin->monitored_barrier(wait_all_ranks != 0, given.timeout_ms);
    });
}

void tutti_coalescing_options_init(tutti_coalescing_options* options, size_t size) {
    capi::write_default_options(options, size);
}

tutti_status tutti_coalescing_begin(tutti_group* group, const tutti_coalescing_options* options,
                                    tutti_group** out_coalescing, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const capi::GroupPin pin = capi::need_group(group);
        const tutti_coalescing_options given = capi::read_options(options);
        capi::check_device(given.device_type, given.device_index, {"options"});
        capi::need_output(out_coalescing, "out_coalescing");
        *out_coalescing = reinterpret_cast<tutti_group*>(
            capi::hand_out<capi::CoalescingHandle>(std::make_shared<tutti::Coalescing>(
                pin.share(), tutti::Device{given.device_type, given.device_index})));
    });
}

tutti_status tutti_coalescing_end(tutti_group* coalescing, const tutti_call_options* options,
                                  tutti_work** work, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        auto* const handle = reinterpret_cast<capi::CoalescingHandle*>(coalescing);
        const capi::Pin<capi::CoalescingHandle> pin(handle, "coalescing");
        capi::read_call_options(options, work != nullptr);
        tutti::Coalesced calls = pin->end();
        const auto uses = pin->take_uses();  // the coalescing may end in the background
        capi::release(handle);
        capi::issue(pin->group(), std::move(calls), options, work);
    });
}

}  // extern "C"
