// tutti/reducer.h. Any thread.
#include "tutti/reducer.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "base/function_call.hpp"
#include "buffers.hpp"
#include "group.hpp"
#include "guard.hpp"
#include "handle.hpp"
#include "object.hpp"
#include "options.hpp"
#include "reducer/reducer.hpp"
#include "reducer/verification.hpp"
#include "user.hpp"

namespace capi = tutti::capi;

namespace {

using ReducerPin = capi::Pin<tutti_reducer>;

ReducerPin find_reducer(tutti_reducer* reducer) noexcept {
    return ReducerPin(capi::forked() ? nullptr : reducer);
}

// The model of a program, as a reducer takes it.
struct Model {
    tutti::Parameters parameters;
    tutti::Views values;
    tutti::Indices order;
    tutti::ReducerOptions options;
};

// 0: the default.
size_t read_number(int64_t number, size_t otherwise, const char* argument) {
    const size_t read = capi::read_count(number, argument);
    return read == 0 ? otherwise : read;
}

tutti::ReducerOptions read_options(const tutti_reducer_options* given) {
    const tutti_reducer_options read = capi::read_options(given);
    capi::check_flag(read.find_unused_parameters, "options.find_unused_parameters");
    capi::check_flag(read.static_graph, "options.static_graph");
    capi::check_flag(read.keep_buckets, "options.keep_buckets");
    capi::check_flag(read.no_initial_broadcast, "options.no_initial_broadcast");
    capi::check_flag(read.sum, "options.sum");
    tutti::ReducerOptions options;
    options.find_unused_parameters = read.find_unused_parameters != 0;
    options.static_graph = read.static_graph != 0;
    options.keep_buckets = read.keep_buckets != 0;
    options.initial_broadcast = read.no_initial_broadcast == 0;
    options.sum = read.sum != 0;
    options.keep_micro_batches = read.keep_micro_batches;
    options.bucket_cap =
        read_number(read.bucket_cap_bytes, options.bucket_cap, "options.bucket_cap_bytes");
    options.first_bucket_cap = read_number(read.first_bucket_cap_bytes,
                                           std::min(options.first_bucket_cap, options.bucket_cap),
                                           "options.first_bucket_cap_bytes");
    options.timeout_ms = read.timeout_ms;
    options.predivide = read.predivide == 0 ? 1 : read.predivide;
    options.stream = read.stream;
    return options;
}

tutti::Indices read_indices(const int64_t* indices, size_t count) {
    return tutti::Indices(indices, indices + count);
}

tutti::Indices backwards(size_t count) {
    tutti::Indices order(count);
    std::iota(order.rbegin(), order.rend(), size_t{0});
    return order;
}

Model read_model(const tutti_buffer* parameters, const char* const* names, const int64_t* order,
                 int64_t count, const tutti_reducer_options* options) {
    if (count == 0) capi::refuse("count is 0; a reducer has at least one parameter");
    const size_t number = capi::read_count(count, "count");
    Model model;
    model.options = read_options(options);
    model.values = capi::read_buffers(parameters, number, "parameters");
    for (size_t i = 0; i < number; ++i) {
        const tutti::View& value = model.values[i];
        tutti::Parameter one{value.count, value.dtype, value.device};
        if (names != nullptr) one.name = capi::read_text(names[i], capi::indexed("names", i));
        model.parameters.push_back(std::move(one));
    }
    model.order = order == nullptr ? backwards(number) : read_indices(order, number);
    return model;
}

tutti::Compression read_compression(tutti_compression compression) {
    switch (compression) {
        case TUTTI_COMPRESSION_NONE:
            return tutti::Compression::None;
        case TUTTI_COMPRESSION_FLOAT16:
            return tutti::Compression::Float16;
        case TUTTI_COMPRESSION_BFLOAT16:
            return tutti::Compression::BFloat16;
        case TUTTI_COMPRESSION_QUANTISED:
            return tutti::Compression::Quantised;
        default:
            capi::refuse("compression is ", compression, "; there is no such one");
    }
}

tutti::PowerSgdOptions read_power_sgd(const int64_t* rows, int64_t count,
                                      const tutti_power_sgd_options* given) {
    const tutti_power_sgd_options read = capi::read_options(given);
    capi::check_flag(read.no_error_feedback, "options.no_error_feedback");
    capi::check_flag(read.no_warm_start, "options.no_warm_start");
    tutti::PowerSgdOptions options;
    const size_t number = capi::read_count(count, "count");
    capi::need_array(rows, number, "rows");
    options.rows.assign(rows, rows + number);
    options.error_feedback = read.no_error_feedback == 0;
    options.warm_start = read.no_warm_start == 0;
    options.start_iteration =
        read_number(read.start_iteration, options.start_iteration, "options.start_iteration");
    options.rank = read_number(read.matrix_approximation_rank, options.rank,
                               "options.matrix_approximation_rank");
    if (read.min_compression_rate != 0) options.min_compression_rate = read.min_compression_rate;
    options.orthogonalization_epsilon = read.orthogonalization_epsilon;
    options.seed = static_cast<uint64_t>(read.random_seed);
    return options;
}

void write_bucket(const std::optional<tutti::GradientBucket>& from, tutti_bucket* out) {
    tutti_bucket bucket = TUTTI_BUCKET_INIT;
    if (from) {
        const tutti::BucketLayout::Bucket& layout = *from->layout;
        bucket.index = static_cast<int32_t>(from->index);
        bucket.bucket_count = static_cast<int32_t>(from->bucket_count);
        bucket.is_last = from->is_last() ? 1 : 0;
        bucket.gradients = capi::buffer_of(from->gradients);
        bucket.parameters = layout.parameters.data();
        bucket.offsets = layout.offsets.data();
        bucket.counts = layout.counts.data();
        bucket.parameter_count = static_cast<int64_t>(layout.parameters.size());
        bucket.stream = from->stream;
    }
    bucket.struct_size = out->struct_size;
    std::memcpy(out, &bucket, std::min<size_t>(bucket.struct_size, sizeof bucket));
}

void need_bucket(const tutti_bucket* out) {
    capi::need_output(out, "out_bucket");
    capi::check_struct_size<tutti_bucket>(
        out->struct_size, "out_bucket",
        "initialise the bucket with TUTTI_BUCKET_INIT or tutti_bucket_init");
}

// Calls the program's hook, which has the reducer's group as its own. One thread at a time.
class HookCaller {
public:
    HookCaller(tutti_bucket_hook hook, std::shared_ptr<capi::User> user)
        : hook_(hook), user_(std::move(user)) {}
    ~HookCaller() { capi::release(handle_); }
    HookCaller(const HookCaller&) = delete;
    HookCaller& operator=(const HookCaller&) = delete;

    void call(const std::shared_ptr<tutti::Group>& group, const tutti::GradientBucket& gradients) {
        tutti_error error = TUTTI_ERROR_INIT;
        tutti_bucket bucket = TUTTI_BUCKET_INIT;
        write_bucket(gradients, &bucket);
        const tutti::FunctionCall inside("hook");
        tutti::Status status =
            capi::status_of(hook_(handle_of(group), &bucket, user_->get(), &error), error);
        if (status.ok()) return;
        status.rank = error.rank >= 0 ? error.rank : group->rank();
        status.message =
            tutti::cat("the hook of rank ", group->rank(), " failed for bucket ", gradients.index,
                       status.message.empty() ? "" : ": ", status.message);
        throw tutti::Error(std::move(status));
    }

private:
    // The reducer may go on in another group.
    tutti_group* handle_of(const std::shared_ptr<tutti::Group>& group) {
        if (group_ != group) {
            capi::release(std::exchange(handle_, nullptr));
            handle_ = capi::hand_out_group(group);
            group_ = group;
        }
        return handle_;
    }

    const tutti_bucket_hook hook_;
    const std::shared_ptr<capi::User> user_;
    std::shared_ptr<tutti::Group> group_;
    tutti_group* handle_ = nullptr;
};

}  // namespace

extern "C" {

void tutti_reducer_options_init(tutti_reducer_options* options, size_t size) {
    capi::write_default_options(options, size);
}

void tutti_bucket_init(tutti_bucket* bucket, size_t size) {
    capi::write_default_options(bucket, size);
    if (bucket != nullptr && size >= capi::min_options && size <= capi::max_options)
        bucket->index = -1;
}

tutti_status tutti_reducer_create(tutti_group* group, const tutti_buffer* parameters,
                                  const char* const* names, const int64_t* order, int64_t count,
                                  const tutti_reducer_options* options, tutti_reducer** out_reducer,
                                  tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const capi::GroupPin pin = capi::need_group(group);
        Model model;
        try {
            model = read_model(parameters, names, order, count, options);
            capi::need_output(out_reducer, "out_reducer");
        } catch (const tutti::Error& fault) {
            tutti::decline_reducer_group(*pin, fault.status());
            throw;
        }
        capi::Reserved<tutti_reducer> slot;
        *out_reducer =
            slot.publish(tutti::Reducer::create(*pin, std::move(model.parameters), model.values,
                                                std::move(model.order), model.options));
    });
}

tutti_status tutti_reducer_gradient(tutti_reducer* reducer, int64_t index, tutti_buffer* out_buffer,
                                    tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const ReducerPin pin(reducer, "reducer");
        capi::need_output(out_buffer, "out_buffer");
        *out_buffer = capi::buffer_of(pin->gradient(static_cast<size_t>(index)));
    });
}

int64_t tutti_reducer_generation(tutti_reducer* reducer) {
    const ReducerPin pin = find_reducer(reducer);
    return pin ? pin->generation() : -1;
}

tutti_status tutti_reducer_get_bucket(tutti_reducer* reducer, int32_t index,
                                      tutti_bucket* out_bucket, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const ReducerPin pin(reducer, "reducer");
        need_bucket(out_bucket);
        write_bucket(pin->bucket(static_cast<size_t>(index)), out_bucket);
    });
}

tutti_status tutti_reducer_begin_forward(tutti_reducer* reducer, tutti_error* error) {
    return capi::guard(__func__, error, [&] { ReducerPin(reducer, "reducer")->begin_forward(); });
}

tutti_status tutti_reducer_begin(tutti_reducer* reducer, uint32_t synchronise, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const ReducerPin pin(reducer, "reducer");
        capi::check_flag(synchronise, "synchronise");
        pin->begin(synchronise != 0);
    });
}

tutti_status tutti_reducer_mark_ready(tutti_reducer* reducer, int64_t index,
                                      const tutti_buffer* gradient, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const ReducerPin pin(reducer, "reducer");
        const auto parameter = static_cast<size_t>(index);
        if (gradient == nullptr) return pin->mark_ready(parameter, nullptr);
        const tutti::View own = capi::read_buffer(gradient, "gradient");
        pin->mark_ready(parameter, &own);
    });
}

tutti_status tutti_reducer_mark_unused(tutti_reducer* reducer, const int64_t* indices,
                                       int64_t count, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const ReducerPin pin(reducer, "reducer");
        const size_t number = capi::read_count(count, "count");
        capi::need_array(indices, number, "indices");
        pin->mark_unused(read_indices(indices, number));
    });
}

tutti_status tutti_reducer_finish(tutti_reducer* reducer, tutti_work** work, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const ReducerPin pin(reducer, "reducer");
        if (work == nullptr) return pin->finish();
        capi::Reserved<tutti_work> slot;
        *work = slot.publish(pin->start_finish());
    });
}

tutti_status tutti_reducer_next_bucket(tutti_reducer* reducer, tutti_bucket* out_bucket,
                                       tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const ReducerPin pin(reducer, "reducer");
        need_bucket(out_bucket);
        write_bucket(pin->next_bucket(), out_bucket);
    });
}

int32_t tutti_reducer_is_used(tutti_reducer* reducer, int64_t index) {
    const ReducerPin pin = find_reducer(reducer);
    if (!pin || index < 0 || static_cast<size_t>(index) >= pin->parameter_count()) return -1;
    return pin->is_used(static_cast<size_t>(index)) ? 1 : 0;
}

tutti_status tutti_reducer_sync_buffers(tutti_reducer* reducer, const tutti_buffer* buffers,
                                        int64_t count, int32_t group_src, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const ReducerPin pin(reducer, "reducer");
        const size_t number = capi::read_count(count, "count");
        capi::need_array(buffers, number, "buffers");
        pin->sync_buffers(capi::read_buffers(buffers, number, "buffers"), group_src);
    });
}

tutti_status tutti_reducer_set_hook(tutti_reducer* reducer, tutti_bucket_hook hook, void* user,
                                    tutti_release_function release_user, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const ReducerPin pin(reducer, "reducer");
        const auto owned = std::make_shared<capi::User>(user, release_user);
        if (hook == nullptr) {
            pin->set_hook(nullptr);
        } else {
            const auto caller = std::make_shared<HookCaller>(hook, owned);
            pin->set_hook(
                [caller](const std::shared_ptr<tutti::Group>& group,
                         const tutti::GradientBucket& bucket) { caller->call(group, bucket); });
        }
        owned->give();
    });
}

tutti_status tutti_reducer_set_compression(tutti_reducer* reducer, tutti_compression compression,
                                           tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        ReducerPin(reducer, "reducer")->set_compression(read_compression(compression));
    });
}

void tutti_power_sgd_options_init(tutti_power_sgd_options* options, size_t size) {
    capi::write_default_options(options, size);
}

tutti_status tutti_reducer_set_power_sgd(tutti_reducer* reducer, const int64_t* rows, int64_t count,
                                         const tutti_power_sgd_options* options,
                                         tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const ReducerPin pin(reducer, "reducer");
        tutti::PowerSgdOptions read;
        try {
            read = read_power_sgd(rows, count, options);
        } catch (const tutti::Error& fault) {
            pin->decline_power_sgd(fault.status());
            throw;
        }
        pin->set_power_sgd(read);
    });
}

tutti_status tutti_reducer_logging_data(tutti_reducer* reducer, tutti_object** out_object,
                                        tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const ReducerPin pin(reducer, "reducer");
        capi::need_output(out_object, "out_object");
        *out_object = capi::hand_out_object(pin->logging_data());
    });
}

tutti_status tutti_reducer_shrink(tutti_reducer* reducer, tutti_group* group, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const capi::GroupPin target = capi::need_group(group);
        const ReducerPin pin = [&] {
            try {
                return ReducerPin(reducer, "reducer");
            } catch (const tutti::Error& fault) {
                tutti::decline_reducer_group(*target, fault.status());
                throw;
            }
        }();
        pin->shrink(*target);
    });
}

void tutti_reducer_release(tutti_reducer* reducer) {
    if (const ReducerPin pin = find_reducer(reducer)) pin->leave();
    if (!capi::forked()) capi::release(reducer);
}

}  // extern "C"
