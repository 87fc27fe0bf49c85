#include "verification.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/device.hpp"
#include "base/error.hpp"
#include "base/hash.hpp"
#include "reduce/reduce.hpp"

namespace tutti {

namespace {

constexpr size_t max_text = 48 * 1024;  // of what ranks compare word by word, at once

std::string phrase_of(const Parameters& parameters, size_t index) {
    const Parameter& one = parameters[index];
    return cat("parameter ", label_of(parameters, index), " of ", one.count, " ",
               dtype_name(one.dtype), " on ", device_type_name(one.device.type));
}

std::string order_phrase(std::span<const size_t> order) {
    std::string text;
    for (const size_t index : order) text += cat(" ", index);
    if (text.size() <= 512) return "order" + text;
    return cat("an order of digest ", fnv1a_64(text));
}

std::vector<std::string> option_phrases(const ReducerOptions& options) {
    return {cat("find_unused_parameters ", options.find_unused_parameters ? 1 : 0),
            cat("static_graph ", options.static_graph ? 1 : 0),
            cat("keep_buckets ", options.keep_buckets ? 1 : 0),
            cat("no_initial_broadcast ", options.initial_broadcast ? 0 : 1),
            cat("sum ", options.sum ? 1 : 0),
            cat("keep_micro_batches ", options.keep_micro_batches),
            cat("bucket_cap_bytes ", options.bucket_cap),
            cat("first_bucket_cap_bytes ", options.first_bucket_cap),
            cat("predivide ", options.predivide)};
}

std::vector<std::string> option_phrases(const PowerSgdOptions& options) {
    return {cat("matrix_approximation_rank ", options.rank),
            cat("start_iteration ", options.start_iteration),
            cat("no_error_feedback ", options.error_feedback ? 0 : 1),
            cat("no_warm_start ", options.warm_start ? 0 : 1),
            cat("min_compression_rate ", options.min_compression_rate),
            cat("orthogonalization_epsilon ", options.orthogonalization_epsilon),
            cat("random_seed ", options.seed)};
}

SplitOptions step_for(const Group& parent, int64_t timeout_ms) {
    SplitOptions step;
    step.function = "reducer_create";
    step.timeout_ms = timeout_ms;
    step.description = cat(parent.name(), "/reducer");
    return step;
}

SplitOptions power_sgd_step() {
    SplitOptions step;
    step.function = "reducer_set_power_sgd";
    return step;
}

// Ranks compare long texts by digests, and see the first 64 KiB if they differ. A difference
// further behind is sought by halves: every comparison has the same outcome on all ranks.
void find_difference(Group& parent, SplitOptions step, const std::vector<std::string>& phrases) {
    step.parts.clear();
    size_t begin = 0;
    size_t end = phrases.size();
    const auto text_size = [&] {
        return std::accumulate(phrases.begin() + static_cast<ptrdiff_t>(begin),
                               phrases.begin() + static_cast<ptrdiff_t>(end), size_t{0},
                               [](size_t sum, const std::string& one) { return sum + one.size(); });
    };
    const auto choose = [&](size_t from, size_t to) {
        step.arguments.assign(phrases.begin() + static_cast<ptrdiff_t>(from),
                              phrases.begin() + static_cast<ptrdiff_t>(to));
    };
    while (text_size() > max_text && end - begin > 1) {
        const size_t middle = begin + (end - begin) / 2;
        choose(begin, middle);
        try {
            parent.compare(step);
            begin = middle;
        } catch (const Error& error) {
            if (error.status().code != TUTTI_ERR_MISMATCH) throw;
            end = middle;
        }
    }
    choose(begin, end);
    parent.compare(step);
}

void check_dtype(const Parameters& parameters, size_t index, const ReducerOptions& options) {
    const tutti_reduce_op op = options.sum ? TUTTI_SUM : TUTTI_AVG;
    const tutti_dtype dtype = parameters[index].dtype;
    if (const auto why_not = why_not_reducible(dtype, op)) {
        refuse("parameters[", index, "] is ", dtype_name(dtype),
               ", which has no mean; options.sum would add it up");
    }
    if (dtype == TUTTI_BOOL) refuse("parameters[", index, "] is bool, which is no number");
    const bool is_exact = !why_not_reducible(dtype, TUTTI_AVG);
    if (options.predivide != 1 && !is_exact) {
        refuse("options.predivide is ", options.predivide, ", and parameters[", index, "] is ",
               dtype_name(dtype), "; only floating point and complex can be divided");
    }
}

}  // namespace

std::shared_ptr<Group> make_reducer_group(Group& parent, const ReducerModel& model) {
    const auto& [group, parameters, order, options] = model;
    SplitOptions step = step_for(parent, options.timeout_ms);
    step.arguments = option_phrases(options);
    step.arguments.insert(step.arguments.begin(), cat(parameters.size(), " parameters"));
    step.arguments.push_back(order_phrase(order));
    parent.compare(step);

    std::vector<std::string> phrases;
    for (size_t i = 0; i < parameters.size(); ++i) phrases.push_back(phrase_of(parameters, i));
    step.arguments = phrases;
    std::vector<int> ranks(static_cast<size_t>(parent.size()));
    std::iota(ranks.begin(), ranks.end(), 0);
    step.parts = {ranks};
    try {
        return parent.split(step);
    } catch (const Error& error) {
        if (error.status().code != TUTTI_ERR_MISMATCH) throw;
        find_difference(parent, step, phrases);
        throw;
    }
}

void decline_reducer_group(Group& parent, const Status& why) noexcept {
    parent.decline(step_for(parent, 0), why);
}

void compare_power_sgd(Group& group, const Parameters& parameters, const PowerSgdOptions& options) {
    SplitOptions step = power_sgd_step();
    step.arguments = option_phrases(options);
    group.compare(step);
    step.arguments.clear();
    for (size_t i = 0; i < parameters.size(); ++i) {
        step.arguments.push_back(
            cat("parameter ", label_of(parameters, i), " of ", options.rows[i], " rows"));
    }
    try {
        group.compare(step);
    } catch (const Error& error) {
        if (error.status().code != TUTTI_ERR_MISMATCH) throw;
        find_difference(group, step, step.arguments);
        throw;
    }
}

void decline_power_sgd(Group& group, const Status& why) noexcept {
    group.decline(power_sgd_step(), why);
}

void check_parameters(const Parameters& parameters, std::span<const View> values,
                      std::span<const size_t> order) {
    std::vector<bool> is_there(parameters.size());
    for (size_t i = 0; i < order.size(); ++i) {
        if (order[i] >= parameters.size() || is_there[order[i]]) {
            refuse("order[", i, "] is ", static_cast<int64_t>(order[i]),
                   "; it must have each index from 0 to ", parameters.size() - 1, " once");
        }
        is_there[order[i]] = true;
    }
    for (size_t i = 0; i < values.size(); ++i) {
        if (values[i].device == values[0].device) continue;
        throw Error(
            TUTTI_ERR_UNSUPPORTED,
            cat("parameters[", i, "] is on ", describe(values[i].device), " and parameters[0] on ",
                describe(values[0].device), "; a reducer takes those of one device"));
    }
    // Values that overlap would be broadcast twice.
    Indices by_place(values.size());
    std::iota(by_place.begin(), by_place.end(), size_t{0});
    std::erase_if(by_place, [&](size_t index) { return values[index].count == 0; });
    std::ranges::sort(by_place, {}, [&](size_t index) { return values[index].data; });
    for (size_t i = 1; i < by_place.size(); ++i) {
        const View& before = values[by_place[i - 1]];
        if (before.bytes().data() + before.size() > values[by_place[i]].data) {
            refuse("parameters[", by_place[i - 1], "] and parameters[", by_place[i], "] overlap");
        }
    }
}

void need_cpu(const Parameters& parameters, const Group& group, const char* feature) {
    const Device& device = parameters.front().device;
    if (device.type == TUTTI_CPU || group.backends().name_for(TUTTI_CPU) != nullptr) return;
    throw Error(TUTTI_ERR_UNSUPPORTED,
                cat(feature, ", beside gradients on ", describe(device), ", needs the CPU, and ",
                    group.label(), " has no backend for that"));
}

void check_options(const Parameters& parameters, const ReducerOptions& options,
                   const Group& parent) {
    if (!std::isfinite(options.predivide) || options.predivide <= 0) {
        refuse("options.predivide is ", options.predivide, "; it must be above 0");
    }
    if (options.keep_micro_batches > 0 && !parent.identity().reproducible) {
        refuse("options.keep_micro_batches needs a group that was made with reproducible, and ",
               parent.label(), " was not");
    }
    if (options.keep_micro_batches > 0 && options.predivide != 1) {
        refuse("options.predivide must be 0 with keep_micro_batches: exact sums do not overflow");
    }
    if (options.keep_micro_batches > 0 && parameters.front().device.type != TUTTI_CPU) {
        throw Error(TUTTI_ERR_UNSUPPORTED,
                    cat("options.keep_micro_batches takes parameters on the CPU, and these are on ",
                        describe(parameters.front().device)));
    }
    if (options.predivide != 1) need_cpu(parameters, parent, "options.predivide");
    constexpr size_t max_kept = AllReduceAddends::max_inputs - 1;
    if (options.keep_micro_batches > max_kept) {
        refuse("options.keep_micro_batches is ", options.keep_micro_batches, "; it must be up to ",
               max_kept);
    }
    for (size_t i = 0; i < parameters.size(); ++i) check_dtype(parameters, i, options);
}

}  // namespace tutti
