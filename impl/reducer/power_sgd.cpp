#include "power_sgd.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.hpp"

namespace tutti {

namespace {

bool is_compressible(const Parameter& parameter) {
    return parameter.dtype == TUTTI_FLOAT32 || parameter.dtype == TUTTI_FLOAT64;
}

template <typename Number>
Number* numbers_in(std::vector<std::byte>& bytes) {
    return reinterpret_cast<Number*>(bytes.data());
}

template <typename Number>
void scale(Number* numbers, size_t count, double factor) {
    const auto times = static_cast<Number>(factor);
    for (size_t i = 0; i < count; ++i) numbers[i] *= times;
}

size_t highest_of_all(Group& group, size_t number) {
    const View view{&number, 1, TUTTI_UINT64};
    group.run(AllReduce{view, view, TUTTI_MAX}, 0);
    return number;
}

}  // namespace

void check_power_sgd(const Parameters& parameters, const PowerSgdOptions& options) {
    if (options.rows.size() != parameters.size()) {
        refuse("count is ", options.rows.size(), "; rows has a number for each of the reducer's ",
               parameters.size(), " parameters");
    }
    for (size_t i = 0; i < parameters.size(); ++i) {
        const int64_t rows = options.rows[i];
        const int64_t count = parameters[i].count;
        if (rows == 0 || (rows > 0 && count % rows == 0)) continue;
        refuse("rows[", i, "] is ", rows, ", and parameter ", label_of(parameters, i), " has ",
               count, " elements; it must divide them, or be 0");
    }
    if (!std::isfinite(options.min_compression_rate) || options.min_compression_rate <= 0) {
        refuse("options.min_compression_rate is ", options.min_compression_rate,
               "; it must be above 0");
    }
    const double epsilon = options.orthogonalization_epsilon;
    if (!std::isfinite(epsilon) || epsilon < 0) {
        refuse("options.orthogonalization_epsilon is ", epsilon, "; it must be 0 or more");
    }
}

// A matrix of a bucket, and its factors in the memory of all ranks.
template <typename Number>
struct PowerSgd::Part {
    State* state;
    Matrix<Number> matrix;
    Columns<Number> p, q;
};

// A bucket: its matrices, and behind all P what is not compressed.
template <typename Number>
struct PowerSgd::Parts {
    std::vector<Part<Number>> matrices;
    std::vector<size_t> parameters;       // of the matrices
    std::vector<std::span<Number>> rest;  // in the bucket
    Number* rest_sent;
    std::span<Number> first, second;  // what is added up: all P and the rest, then all Q
};

PowerSgd::PowerSgd(std::shared_ptr<Group> group, const ReducerOptions& reducer,
                   const PowerSgdOptions& options, const Parameters& parameters,
                   const std::atomic<uint8_t>* used, std::shared_ptr<size_t> iteration)
    : group_(std::move(group)),
      options_(options),
      averaging_(reducer, group_->size()),
      adds_(reducer.sum),
      used_(used),
      states_(parameters.size()),
      iteration_(std::move(iteration)) {
    *iteration_ = highest_of_all(*group_, *iteration_);
    size_t room = 0;
    for (size_t i = 0; i < parameters.size(); ++i) {
        const Parameter& one = parameters[i];
        if (!is_compressible(one)) continue;
        room += one.size();
        if (one.count == 0 || options.rows[i] == 0) continue;
        State& state = states_[i];
        state.rows = static_cast<size_t>(options.rows[i]);
        state.columns = static_cast<size_t>(one.count) / state.rows;
        const size_t rank = std::min({options.rank, state.rows, state.columns});
        const size_t sent = (state.rows + state.columns) * rank;
        if (static_cast<double>(sent) * options.min_compression_rate >=
            static_cast<double>(one.count)) {
            continue;
        }
        state.rank = rank;
        state.q.resize(state.columns * rank * element_size(one.dtype));
        if (options.error_feedback) state.error.resize(one.size());
        room += sent * element_size(one.dtype) - one.size();
    }
    memory_ = std::make_unique<SharedMemory>(*group_, room);
}

void PowerSgd::run(const GradientBucket& bucket) {
    const bool has_matrix = std::ranges::any_of(bucket.layout->parameters, [&](int64_t parameter) {
        return states_[static_cast<size_t>(parameter)].rank > 0;
    });
    if (*iteration_ < options_.start_iteration || !has_matrix) {
        averaging_.run(*group_, bucket.gradients);
        count(bucket.gradients);
    } else if (bucket.gradients.dtype == TUTTI_FLOAT32) {
        compress<float>(bucket);
    } else {
        compress<double>(bucket);
    }
    if (bucket.is_last()) ++*iteration_;
}

// A matrix without a gradient on any rank keeps its place, which is zero, and its error.
template <typename Number>
PowerSgd::Parts<Number> PowerSgd::divide(const GradientBucket& bucket) {
    const BucketLayout::Bucket& layout = *bucket.layout;
    auto* const gradients = reinterpret_cast<Number*>(bucket.gradients.data);
    auto* const memory = reinterpret_cast<Number*>(memory_->data());
    Parts<Number> parts{};
    Number* next = memory;
    size_t rest = 0;
    for (size_t i = 0; i < layout.parameters.size(); ++i) {
        const auto parameter = static_cast<size_t>(layout.parameters[i]);
        Number* const place = gradients + layout.offsets[i];
        State& state = states_[parameter];
        if (state.rank == 0) {
            parts.rest.emplace_back(place, static_cast<size_t>(layout.counts[i]));
            rest += parts.rest.back().size();
        } else if (used_[parameter] != 0) {
            parts.parameters.push_back(parameter);
            parts.matrices.push_back({&state,
                                      {place, state.rows, state.columns},
                                      {next, state.rows, state.rank},
                                      {nullptr, state.columns, state.rank}});
            next += parts.matrices.back().p.size();
        }
    }
    parts.rest_sent = next;
    next += rest;
    parts.first = {memory, next};
    for (Part<Number>& part : parts.matrices) {
        part.q.data = next;
        next += part.q.size();
    }
    parts.second = {parts.first.data() + parts.first.size(), next};
    return parts;
}

// Adds what earlier passes have left out, and multiplies by Q.
template <typename Number>
void PowerSgd::project(const Part<Number>& part, size_t parameter) {
    State& state = *part.state;
    const size_t count = state.rows * state.columns;
    if (options_.error_feedback) {
        auto* const error = numbers_in<Number>(state.error);
        for (size_t i = 0; i < count; ++i) {
            part.matrix.data[i] += error[i];
            error[i] = part.matrix.data[i];
        }
    }
    std::memcpy(part.q.data, state.q.data(), state.q.size());
    const uint64_t seed = mix_seed(mix_seed(options_.seed, parameter), *iteration_);
    for (size_t k = 0; k < state.rank; ++k) {
        if (orthonormalise(part.q, k, options_.orthogonalization_epsilon)) continue;
        draw(part.q.column(k), state.columns, mix_seed(seed, k));
        orthonormalise(part.q, k, options_.orthogonalization_epsilon);
    }
    multiply(part.matrix, part.q, part.p);
}

// The mean from P and the sum of all Q. An infinity or NaN of any rank is in every Q: then all
// ranks begin anew with this matrix.
template <typename Number>
void PowerSgd::restore(const Part<Number>& part) {
    State& state = *part.state;
    const size_t count = state.rows * state.columns;
    scale(part.q.data, part.q.size(), 1.0 / group_->size());
    compose(part.p, part.q, part.matrix);
    const bool is_finite = std::all_of(part.q.data, part.q.data + part.q.size(),
                                       [](Number one) { return std::isfinite(one); });
    if (options_.warm_start && is_finite) {
        std::memcpy(state.q.data(), part.q.data, state.q.size());
    } else {
        std::ranges::fill(state.q, std::byte{0});
    }
    if (options_.error_feedback) {
        auto* const error = numbers_in<Number>(state.error);
        for (size_t i = 0; i < count; ++i) {
            error[i] = is_finite ? error[i] - part.matrix.data[i] : 0;
        }
    }
    if (adds_) scale(part.matrix.data, count, group_->size());
}

template <typename Number>
void PowerSgd::compress(const GradientBucket& bucket) {
    const Parts<Number> parts = divide<Number>(bucket);
    const auto add_up = [&](std::span<Number> numbers) {
        const View view{numbers.data(), static_cast<int64_t>(numbers.size()),
                        bucket.gradients.dtype};
        if (view.count > 0) group_->run(AllReduce{view, view, TUTTI_SUM}, 0);
        count(view);
    };
    for (size_t i = 0; i < parts.matrices.size(); ++i) {
        project(parts.matrices[i], parts.parameters[i]);
    }
    Number* rest = parts.rest_sent;
    for (const std::span<Number> one : parts.rest) rest = std::ranges::copy(one, rest).out;
    add_up(parts.first);
    for (const Part<Number>& part : parts.matrices) {
        for (size_t k = 0; k < part.p.rank; ++k) {
            orthonormalise(part.p, k, options_.orthogonalization_epsilon);
        }
        multiply_transposed(part.matrix, part.p, part.q);
    }
    add_up(parts.second);
    for (const Part<Number>& part : parts.matrices) restore(part);
    rest = parts.rest_sent;
    for (const std::span<Number> one : parts.rest) {
        if (!adds_) scale(rest, one.size(), 1.0 / group_->size());
        std::copy_n(rest, one.size(), one.data());
        rest += one.size();
    }
}

}  // namespace tutti
