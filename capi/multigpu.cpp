// tutti/multigpu.h. Any thread.
#include "tutti/multigpu.h"

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "buffers.hpp"
#include "group/device_ranks.hpp"
#include "guard.hpp"
#include "issue.hpp"

namespace capi = tutti::capi;

namespace {

using tutti::View;
using tutti::Views;

Views read_list(const tutti_buffer* buffers, int64_t count, const char* argument,
                const char* count_argument) {
    return capi::read_buffers(buffers, capi::read_count(count, count_argument), argument);
}

// The lists of all devices: each has a buffer for each device of every rank.
Views read_lists(const tutti_buffer* buffers, int64_t given, const char* argument,
                 const char* count_argument, const tutti::Group& group, size_t devices) {
    const size_t count = capi::read_count(given, count_argument);
    const size_t wanted = devices * devices * static_cast<size_t>(group.size());
    if (count != wanted) {
        capi::refuse(count_argument, " is ", count, ", but must be ", wanted, ": ", devices, " * ",
                     devices, " GPUs * world size ", group.size());
    }
    return capi::read_buffers(buffers, count, argument);
}

void check_alike(const Views& buffers, const View& first, const char* argument) {
    for (size_t i = 0; i < buffers.size(); ++i) {
        if (buffers[i].count != first.count) {
            capi::refuse(argument, "[", i, "].count is ", buffers[i].count, ", not ", first.count,
                         " as of the others");
        }
        if (buffers[i].dtype != first.dtype) {
            capi::refuse(argument, "[", i, "].dtype differs from that of the others");
        }
    }
}

// The group's rank, and which of its buffers, as one of the ranks that devices are.
int read_place(const tutti::Group& group, size_t devices, int32_t rank, const char* rank_argument,
               int32_t tensor, const char* tensor_argument) {
    if (rank < 0 || rank >= group.size()) {
        capi::refuse(rank_argument, " is ", rank, ", but the group has ", group.size(), " ranks");
    }
    const auto count = static_cast<int>(devices);
    if (tensor < 0 || tensor >= count) {
        capi::refuse(tensor_argument, " is ", tensor, ", but each rank has ", count, " buffers");
    }
    return rank * count + tensor;
}

// The calls of all devices, in the order of the buffers that tell them.
template <typename Call>
struct DeviceCalls {
    const char* argument;
    std::vector<tutti::Device> devices;
    std::vector<Call> calls;
};

// `call_of(index)`: the call of one device.
template <typename CallOf>
auto calls_on_all(const Views& buffers, const char* argument, CallOf&& call_of) {
    DeviceCalls<decltype(call_of(size_t{0}))> all{argument, {}, {}};
    if (!buffers.empty()) check_alike(buffers, buffers.front(), argument);
    for (size_t index = 0; index < buffers.size(); ++index) {
        all.devices.push_back(buffers[index].device);
        all.calls.push_back(call_of(index));
    }
    return all;
}

// `read(group)`: the calls. If this is the group's first, a fault of this rank's arguments fails
// the others' calls, which would wait for it.
template <typename Read>
void issue_on_all(const char* function, tutti_group* handle, const tutti_call_options* given,
                  tutti_work** work, Read&& read) {
    const capi::GroupPin pin = capi::need_group(handle);
    tutti::Group& group = *pin;
    tutti_call_options options{};
    decltype(read(group)) all;
    try {
        options = capi::read_call_options(given, work != nullptr);
        if (options.stream != nullptr) {
            capi::refuse("options.stream must be NULL: it is of one GPU");
        }
        all = read(group);
        tutti::DeviceRanks::check_calls(group, all.argument, all.devices, all.calls);
        group.devices().check(all.argument, all.devices);
    } catch (const tutti::Error& error) {
        group.devices().decline(function, error.status());
        throw;
    }
    const int64_t timeout_ms = group.effective_timeout(options.timeout_ms);
    const auto ranks = group.devices().ranks(function, all.argument, all.devices, timeout_ms);
    if (work == nullptr) return ranks->run(function, std::move(all.calls), timeout_ms);
    capi::issue_work(options, work,
                     [&] { return ranks->start(function, std::move(all.calls), timeout_ms); });
}

// Those of one device.
Views list_of(const Views& lists, size_t index, size_t devices) {
    const size_t length = lists.size() / devices;
    const auto begin = lists.begin() + static_cast<std::ptrdiff_t>(index * length);
    return {begin, begin + static_cast<std::ptrdiff_t>(length)};
}

}  // namespace

extern "C" {

tutti_status tutti_broadcast_multigpu(tutti_group* group, const tutti_buffer* buffers,
                                      int64_t buffer_count, int32_t group_src, int32_t src_tensor,
                                      const tutti_call_options* options, tutti_work** work,
                                      tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        issue_on_all("broadcast_multigpu", group, options, work, [&](const tutti::Group& ranks) {
            const Views list = read_list(buffers, buffer_count, "buffers", "buffer_count");
            const int source =
                read_place(ranks, list.size(), group_src, "group_src", src_tensor, "src_tensor");
            return calls_on_all(list, "buffers", [&](size_t index) {
                return tutti::Broadcast{list[index], source};
            });
        });
    });
}

tutti_status tutti_all_reduce_multigpu(tutti_group* group, const tutti_buffer* buffers,
                                       int64_t buffer_count, tutti_reduce_op op,
                                       const tutti_call_options* options, tutti_work** work,
                                       tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        issue_on_all("all_reduce_multigpu", group, options, work, [&](const tutti::Group&) {
            const Views list = read_list(buffers, buffer_count, "buffers", "buffer_count");
            return calls_on_all(list, "buffers", [&](size_t index) {
                return tutti::AllReduce{list[index], list[index], op};
            });
        });
    });
}

tutti_status tutti_reduce_multigpu(tutti_group* group, const tutti_buffer* buffers,
                                   int64_t buffer_count, tutti_reduce_op op, int32_t group_dst,
                                   int32_t dst_tensor, const tutti_call_options* options,
                                   tutti_work** work, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        issue_on_all("reduce_multigpu", group, options, work, [&](const tutti::Group& ranks) {
            const Views list = read_list(buffers, buffer_count, "buffers", "buffer_count");
            const int destination =
                read_place(ranks, list.size(), group_dst, "group_dst", dst_tensor, "dst_tensor");
            return calls_on_all(list, "buffers", [&](size_t index) {
                return tutti::Reduce{list[index], list[index], op, destination};
            });
        });
    });
}

tutti_status tutti_all_gather_multigpu(tutti_group* group, const tutti_buffer* inputs,
                                       int64_t input_count, const tutti_buffer* outputs,
                                       int64_t output_count, const tutti_call_options* options,
                                       tutti_work** work, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        issue_on_all("all_gather_multigpu", group, options, work, [&](const tutti::Group& ranks) {
            const Views own = read_list(inputs, input_count, "inputs", "input_count");
            const Views lists =
                read_lists(outputs, output_count, "outputs", "output_count", ranks, own.size());
            if (!own.empty()) check_alike(lists, own.front(), "outputs");
            return calls_on_all(own, "inputs", [&](size_t index) {
                return tutti::AllGather{own[index], list_of(lists, index, own.size())};
            });
        });
    });
}

tutti_status tutti_reduce_scatter_multigpu(tutti_group* group, const tutti_buffer* inputs,
                                           int64_t input_count, const tutti_buffer* outputs,
                                           int64_t output_count, tutti_reduce_op op,
                                           const tutti_call_options* options, tutti_work** work,
                                           tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const auto read = [&](const tutti::Group& ranks) {
            const Views own = read_list(outputs, output_count, "outputs", "output_count");
            const Views lists =
                read_lists(inputs, input_count, "inputs", "input_count", ranks, own.size());
            if (!own.empty()) check_alike(lists, own.front(), "inputs");
            return calls_on_all(own, "outputs", [&](size_t index) {
                const Views list = list_of(lists, index, own.size());
                return tutti::ReduceScatter{{list.begin(), list.end()}, own[index], op};
            });
        };
        issue_on_all("reduce_scatter_multigpu", group, options, work, read);
    });
}

}  // extern "C"
