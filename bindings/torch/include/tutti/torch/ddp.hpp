/* tutti/torch/ddp.hpp: DistributedDataParallel for C++ programs of libtorch. Each rank has a replica
 * of a module; after loss.backward() all replicas have the same gradients, the means over the ranks,
 * which a reducer (tutti/reducer.h) sums up while the backward pass computes the others.
 *
 *     torch::nn::Sequential net(torch::nn::Linear(64, 32), torch::nn::Tanh(),
 *                               torch::nn::Linear(32, 10));
 *     tutti::torch::DistributedDataParallel model(net);  // all ranks take the values of rank 0
 *     torch::optim::SGD optimizer(net->parameters(), 0.1);
 *     for (...) {
 *         optimizer.zero_grad();
 *         torch::nn::functional::cross_entropy(model(images), labels).backward();
 *         optimizer.step();
 *     }
 *
 * Header only; C++17, or what libtorch asks for; link libtorch and libtutti. Errors are exceptions, of
 * the class tutti::torch::Error; those of a backward pass come out of backward(). */
#ifndef TUTTI_TORCH_DDP_HPP
#define TUTTI_TORCH_DDP_HPP

#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/utils/lambda_post_hook.h>
#include <torch/torch.h>
#include <tutti/tutti.h>
#include <tutti/torch/dtypes.hpp>

#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tutti::torch {

/** A call of tutti has failed. */
class Error : public std::runtime_error {
public:
    explicit Error(const tutti_error& error)
        : std::runtime_error(std::string(tutti_status_name(error.status)) + ": " + error.message),
          status_(error.status),
          rank_(error.rank) {}
    Error(tutti_status status, const std::string& message)
        : std::runtime_error(std::string(tutti_status_name(status)) + ": " + message),
          status_(status) {}

    [[nodiscard]] tutti_status status() const noexcept { return status_; }
    /** The rank at fault, in the reducer's group; -1: none. */
    [[nodiscard]] int32_t rank() const noexcept { return rank_; }

private:
    tutti_status status_;
    int32_t rank_ = -1;
};

/** Options of DistributedDataParallel, the same on all ranks. */
struct DistributedDataParallelOptions {
    /** The group whose ranks have the replicas; borrowed until the constructor returns. */
    tutti_group* group = TUTTI_GROUP_WORLD;
    /** Before each forward pass that computes gradients and is synchronised, the module's buffers
     *  become those of rank 0. */
    bool broadcast_buffers = true;
    /** Gradients lie where the reducer sums them up, which saves a copy of each and as much memory.
     *  They stay there until the model is destroyed, which gives each parameter a copy. */
    bool gradient_as_bucket_view = false;
    /** find_unused_parameters, static_graph, bucket_cap_bytes and others; options.stream must be
     *  the current stream of the parameters' device, or NULL. */
    tutti_reducer_options reducer = TUTTI_REDUCER_OPTIONS_INIT;
};

namespace detail {

using Tensors = std::vector<::torch::Tensor>;

template <typename Call>
void check(Call&& call) {
    tutti_error error = TUTTI_ERROR_INIT;
    if (std::forward<Call>(call)(&error) != TUTTI_OK) throw Error(error);
}

inline tutti_dtype dtype_of(const ::torch::Tensor& tensor) {
    if (const auto dtype = dtype_of(tensor.scalar_type())) return *dtype;
    throw Error(TUTTI_ERR_UNSUPPORTED, std::string("tensors of ") +
                                           c10::toString(tensor.scalar_type()) + " cannot be sent");
}

/** The elements of a contiguous tensor, which must outlive the buffer. */
inline tutti_buffer buffer_of(const ::torch::Tensor& tensor) {
    tutti_buffer buffer = TUTTI_BUFFER_INIT(tensor.data_ptr(), tensor.numel(), dtype_of(tensor));
    if (tensor.is_cuda()) {
        buffer.device_type = TUTTI_CUDA;
        buffer.device_index = tensor.get_device();
    } else if (!tensor.device().is_cpu()) {
        throw Error(TUTTI_ERR_UNSUPPORTED, "tensors on " + tensor.device().str() +
                                               " cannot be sent; the CPU's and CUDA's can");
    }
    return buffer;
}

/** Tensors as buffers, for calls that may write them: those with gaps or in another order of
 *  elements go by a contiguous copy. */
class ContiguousCopies {
public:
    explicit ContiguousCopies(const Tensors& tensors) : tensors_(tensors) {
        for (const ::torch::Tensor& tensor : tensors_) {
            if (tensor.layout() != ::torch::kStrided) {
                throw Error(TUTTI_ERR_UNSUPPORTED, "sparse parameters and buffers cannot be sent");
            }
            copies_.push_back(tensor.detach().contiguous());
            buffers_.push_back(buffer_of(copies_.back()));
        }
    }

    [[nodiscard]] const std::vector<tutti_buffer>& buffers() const { return buffers_; }

    void copy_back() {
        const ::torch::NoGradGuard no_grad;
        for (size_t i = 0; i < tensors_.size(); ++i) {
            if (!tensors_[i].is_contiguous()) tensors_[i].detach().copy_(copies_[i]);
        }
    }

private:
    const Tensors& tensors_;
    Tensors copies_;
    std::vector<tutti_buffer> buffers_;
};

/** The parameters of a replica, and the reducer that their gradients go through. Autograd's threads
 *  call it for one backward pass at a time. */
class Replica {
public:
    using NamedTensors = ::torch::OrderedDict<std::string, ::torch::Tensor>;

    Replica(const NamedTensors& parameters, Tensors buffers,
            const DistributedDataParallelOptions& options)
        : options_(options), buffers_(std::move(buffers)) {
        for (const auto& parameter : parameters) {
            if (!parameter.value().requires_grad()) continue;
            names_.push_back(parameter.key());
            parameters_.push_back(parameter.value());
        }
        std::vector<const char*> names;
        for (const std::string& name : names_) names.push_back(name.c_str());
        if (parameters_.empty()) {
            throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                        "module has no parameter that needs a gradient");
        }
        ContiguousCopies values(parameters_);
        tutti_reducer* made = nullptr;
        check([&](tutti_error* error) {
            return tutti_reducer_create(options_.group, values.buffers().data(), names.data(),
                                        nullptr, static_cast<int64_t>(names.size()),
                                        &options_.reducer, &made, error);
        });
        reducer_.reset(made);
        values.copy_back();
        held_.resize(parameters_.size());
        for (size_t i = 0; i < parameters_.size(); ++i) add_hook(i);
    }

    ~Replica() {
        for (const auto& [accumulator, key] : hooks_) accumulator->del_post_hook(key);
        const ::torch::NoGradGuard no_grad;
        for (size_t i = 0; i < places_.size(); ++i) {
            ::torch::Tensor& gradient = parameters_[i].mutable_grad();
            if (gradient.defined() && gradient.is_same(places_[i])) gradient = gradient.clone();
        }
    }
    Replica(const Replica&) = delete;
    Replica& operator=(const Replica&) = delete;

    [[nodiscard]] tutti_reducer* reducer() const { return reducer_.get(); }
    [[nodiscard]] bool synchronises() const { return synchronises_; }
    void set_synchronises(bool synchronises) { synchronises_ = synchronises; }

    void begin_forward() {
        if (!::torch::GradMode::is_enabled()) return;
        if (is_in_pass_) finish();  // an exception has ended backward() before its end
        check([&](tutti_error* error) { return tutti_reducer_begin_forward(reducer(), error); });
        if (!options_.broadcast_buffers || !synchronises_ || buffers_.empty()) return;
        ContiguousCopies values(buffers_);
        check([&](tutti_error* error) {
            return tutti_reducer_sync_buffers(reducer(), values.buffers().data(),
                                              static_cast<int64_t>(buffers_.size()), 0, error);
        });
        values.copy_back();
    }

    void shrink(tutti_group* group) {
        check([&](tutti_error* error) { return tutti_reducer_shrink(reducer(), group, error); });
        is_in_pass_ = false;
        held_.assign(parameters_.size(), {});
        if (options_.gradient_as_bucket_view) find_places();
    }

private:
    void add_hook(size_t index) {
        auto accumulator = ::torch::autograd::impl::grad_accumulator(parameters_[index]);
        using Values = ::torch::autograd::variable_list;
        const uintptr_t key =
            accumulator->add_post_hook(std::make_unique<::torch::autograd::utils::LambdaPostHook>(
                [this, index](const Values& outputs, const Values&) {
                    gradient_is_ready(index);
                    return outputs;
                }));
        hooks_.emplace_back(std::move(accumulator), key);
    }

    void gradient_is_ready(size_t index) {
        begin();
        ::torch::Tensor& gradient = parameters_[index].mutable_grad();
        if (gradient.defined() && gradient.layout() != ::torch::kStrided) {
            throw Error(TUTTI_ERR_UNSUPPORTED, names_[index] +
                                                   " has got a sparse gradient, which " +
                                                   "cannot be reduced; its module has an option");
        }
        const ::torch::NoGradGuard no_grad;
        if (options_.gradient_as_bucket_view) {
            if (!gradient.defined()) {
                places_[index].zero_();
            } else if (!gradient.is_same(places_[index])) {
                places_[index].copy_(gradient);
                gradient = places_[index];
            }
            return mark_ready(index, nullptr);
        }
        held_[index] =
            gradient.defined() ? gradient.contiguous() : ::torch::zeros_like(parameters_[index]);
        const tutti_buffer buffer = buffer_of(held_[index]);
        mark_ready(index, &buffer);
    }

    void mark_ready(size_t index, const tutti_buffer* gradient) {
        check([&](tutti_error* error) {
            return tutti_reducer_mark_ready(reducer(), static_cast<int64_t>(index), gradient,
                                            error);
        });
    }

    /** With the first gradient of a backward pass. */
    void begin() {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (is_in_pass_) return;
        check([&](tutti_error* error) {
            return tutti_reducer_begin(reducer(), synchronises_ ? 1 : 0, error);
        });
        is_in_pass_ = true;
        is_synchronised_ = synchronises_;
        if (options_.gradient_as_bucket_view) find_places();
        ::torch::autograd::Engine::get_default_engine().queue_callback([this] { finish(); });
    }

    /** When backward() has computed all gradients; it has not returned yet. */
    void finish() {
        if (!is_in_pass_) return;
        is_in_pass_ = false;
        check([&](tutti_error* error) { return tutti_reducer_finish(reducer(), nullptr, error); });
        if (!is_synchronised_) return;
        const ::torch::NoGradGuard no_grad;
        for (size_t i = 0; i < parameters_.size(); ++i) take_result(i);
        held_.assign(parameters_.size(), {});
    }

    void take_result(size_t index) {
        ::torch::Tensor& gradient = parameters_[index].mutable_grad();
        if (tutti_reducer_is_used(reducer(), static_cast<int64_t>(index)) != 1) return;
        if (options_.gradient_as_bucket_view) {
            gradient = places_[index];
        } else if (!held_[index].defined()) {  // only other ranks have one
            gradient = place_of(index).clone();
        } else if (!gradient.defined()) {
            gradient = held_[index];
        } else if (!held_[index].is_alias_of(gradient)) {
            gradient.copy_(held_[index]);
        }
    }

    /** Where the reducer has the gradient. */
    [[nodiscard]] ::torch::Tensor place_of(size_t index) const {
        const ::torch::Tensor& parameter = parameters_[index];
        tutti_buffer place = TUTTI_BUFFER_INIT(nullptr, 0, TUTTI_FLOAT32);
        check([&](tutti_error* error) {
            return tutti_reducer_gradient(reducer(), static_cast<int64_t>(index), &place, error);
        });
        return ::torch::from_blob(place.data, parameter.sizes(),
                                  parameter.options().requires_grad(false));
    }

    /** The values that parameters have as gradients have moved with the places. */
    void find_places() {
        const int64_t generation = tutti_reducer_generation(reducer());
        if (generation == generation_) return;
        generation_ = generation;
        const Tensors before = std::exchange(places_, {});
        for (size_t i = 0; i < parameters_.size(); ++i) {
            places_.push_back(place_of(i));
            ::torch::Tensor& gradient = parameters_[i].mutable_grad();
            if (!before.empty() && gradient.defined() && gradient.is_same(before[i])) {
                gradient = places_[i];
            }
        }
    }

    struct Release {
        void operator()(tutti_reducer* reducer) const { tutti_reducer_release(reducer); }
    };
    using Accumulator = decltype(::torch::autograd::impl::grad_accumulator(
        std::declval<const ::torch::autograd::Variable&>()));

    const DistributedDataParallelOptions options_;
    const Tensors buffers_;
    std::vector<std::string> names_;
    Tensors parameters_;
    std::vector<std::pair<Accumulator, uintptr_t>> hooks_;
    std::unique_ptr<tutti_reducer, Release> reducer_;
    bool synchronises_ = true;

    std::mutex mutex_;
    bool is_in_pass_ = false;
    bool is_synchronised_ = true;  // this pass
    Tensors held_;                 // gradients of the program's own that the reducer borrows
    Tensors places_;               // with gradient_as_bucket_view
    int64_t generation_ = -1;
};

}  // namespace detail

/** A module whose replicas on all ranks of a group are trained together. `Module` is a module holder
 *  (TORCH_MODULE) or a std::shared_ptr of a module.
 *
 *  All ranks make it with modules of the same parameters, and call it equally often. Parameters are
 *  on the CPU, or all on one CUDA device. The mean over the ranks is the gradient of the whole batch
 *  if ranks have equally many samples and the loss is a mean, too. One thread at a time. */
template <typename Module>
class DistributedDataParallel {
public:
    using Options = DistributedDataParallelOptions;

    /** Waits for all ranks. The parameters become those of rank 0. */
    explicit DistributedDataParallel(Module module, const Options& options = {})
        : module_(std::move(module)),
          replica_(std::make_unique<detail::Replica>(module_->named_parameters(),
                                                     module_->buffers(), options)) {}

    /** The module's forward(), with the buffers of rank 0. */
    template <typename... Arguments>
    auto forward(Arguments&&... arguments) {
        replica_->begin_forward();
        return module_->forward(std::forward<Arguments>(arguments)...);
    }
    template <typename... Arguments>
    auto operator()(Arguments&&... arguments) {
        return forward(std::forward<Arguments>(arguments)...);
    }

    /** While it exists, backward passes only accumulate gradients on this rank; the next one after it
     *  also counts them. What decides is where backward() is called. */
    class NoSync {
    public:
        explicit NoSync(detail::Replica& replica)
            : replica_(replica), before_(replica.synchronises()) {
            replica_.set_synchronises(false);
        }
        ~NoSync() { replica_.set_synchronises(before_); }
        NoSync(const NoSync&) = delete;
        NoSync& operator=(const NoSync&) = delete;

    private:
        detail::Replica& replica_;
        const bool before_;
    };
    [[nodiscard]] NoSync no_sync() { return NoSync(*replica_); }

    /** Goes on in another group, as after the death of a rank; see tutti_reducer_shrink. All ranks
     *  of it call this, and then repeat the step with gradients of zero. */
    void shrink(tutti_group* group) { replica_->shrink(group); }

    [[nodiscard]] const Module& module() const { return module_; }
    /** For tutti_reducer_set_compression and others; it belongs to this object. */
    [[nodiscard]] tutti_reducer* reducer() const { return replica_->reducer(); }

private:
    Module module_;
    std::unique_ptr<detail::Replica> replica_;
};

}  // namespace tutti::torch

#endif
