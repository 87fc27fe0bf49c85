/* tutti/torch/ddp.hpp beside a plain module of the same values, whose gradients the test averages.
 *     tuttirun --nproc-per-node N ddp_test */
#include <tutti/torch/ddp.hpp>

#include <cstdio>
#include <cstdlib>
#include <functional>

namespace {

namespace nn = torch::nn;
using tutti::torch::DistributedDataParallel;
using Options = tutti::torch::DistributedDataParallelOptions;

void require(bool is_true, const char* what, int line) {
    if (is_true) return;
    std::fprintf(stderr, "rank %d, line %d: %s\n", int(tutti_get_rank(TUTTI_GROUP_WORLD)), line,
                 what);
    std::_Exit(1);
}
#define REQUIRE(condition) require(condition, #condition, __LINE__)

int64_t rank() {
    return tutti_get_rank(TUTTI_GROUP_WORLD);
}
int64_t size() {
    return tutti_get_world_size(TUTTI_GROUP_WORLD);
}

torch::Tensor mean_of_ranks(const torch::Tensor& tensor) {
    torch::Tensor sum = tensor.detach().clone(torch::MemoryFormat::Contiguous);
    tutti_buffer buffer = tutti::torch::detail::buffer_of(sum);
    tutti_error error = TUTTI_ERROR_INIT;
    REQUIRE(tutti_all_reduce(TUTTI_GROUP_WORLD, nullptr, &buffer, TUTTI_SUM, nullptr, nullptr,
                             &error) == TUTTI_OK);
    return sum / double(size());
}

/* A layer that only the ranks of its number use, and one that nobody does. */
struct NetImpl : nn::Module {
    NetImpl()
        : first(register_module("first", nn::Linear(8, 16))),
          norm(register_module("norm", nn::BatchNorm1d(16))),
          second(register_module("second", nn::Linear(16, 4))),
          rare(register_module("rare", nn::Linear(4, 4))),
          never(register_module("never", nn::Linear(4, 4))) {
        first->weight.set_data(first->weight.t().contiguous().t());  // not contiguous
    }
    torch::Tensor forward(const torch::Tensor& x, bool uses_rare) {
        torch::Tensor y = second(torch::tanh(norm(first(x))));
        return uses_rare ? rare(y) : y;
    }
    nn::Linear first;
    nn::BatchNorm1d norm;
    nn::Linear second, rare, never;
};
TORCH_MODULE(Net);

torch::Tensor input(int64_t step) {
    torch::manual_seed(1000 * step + rank());
    return torch::randn({6, 8}, torch::kFloat64);
}

Net make_net() {
    Net net;
    net->to(torch::kFloat64);
    return net;
}

struct Twins {
    Net net, plain;
};

/* The ranks begin with different values. */
Twins make_twins(const Options& options, std::unique_ptr<DistributedDataParallel<Net>>& ddp) {
    torch::manual_seed(rank());
    Twins twins{make_net(), make_net()};
    ddp = std::make_unique<DistributedDataParallel<Net>>(twins.net, options);
    const torch::NoGradGuard no_grad;
    const auto from = twins.net->parameters(), to = twins.plain->parameters();
    for (size_t i = 0; i < from.size(); ++i) to[i].copy_(from[i]);
    return twins;
}

void compare(Twins& twins) {
    auto own = twins.net->named_parameters(), plain = twins.plain->named_parameters();
    for (const auto& one : plain) {
        const torch::Tensor gradient = own[one.key()].grad();
        const bool is_never = one.key().rfind("never", 0) == 0;
        REQUIRE(gradient.defined() == !is_never);
        if (is_never) continue;
        const torch::Tensor local =
            one.value().grad().defined() ? one.value().grad() : torch::zeros_like(one.value());
        REQUIRE(torch::allclose(gradient, mean_of_ranks(local), 1e-9, 1e-12));
    }
}

void zero(Twins& twins) {
    twins.net->zero_grad();
    twins.plain->zero_grad();
}

void train(const Options& options) {
    std::unique_ptr<DistributedDataParallel<Net>> ddp;
    Twins twins = make_twins(options, ddp);
    for (int64_t step = 0; step < 5; ++step) {
        const bool uses_rare = (step + rank()) % 2 == 0 || size() == 1;
        const auto loss = [&](auto&& net) { return net(input(step), uses_rare).pow(2).mean(); };
        const auto forward = [&](const torch::Tensor& x, bool uses) { return (*ddp)(x, uses); };
        if (step == 3) {  // accumulated over two passes
            const auto guard = ddp->no_sync();
            loss(forward).backward();
            loss([&](const auto& x, bool uses) {
                return twins.plain->forward(x, uses);
            }).backward();
        }
        loss(forward).backward();
        loss([&](const auto& x, bool uses) { return twins.plain->forward(x, uses); }).backward();
        compare(twins);
        zero(twins);
    }
    for (const auto& buffer : ddp->module()->named_buffers()) {
        if (buffer.key() == "norm.running_mean")
            REQUIRE(buffer.value().abs().max().item<double>() > 0);
    }
}

void gradients_are_means() {
    Options options;
    options.reducer.find_unused_parameters = 1;
    train(options);
    options.gradient_as_bucket_view = true;
    train(options);
    options.reducer.bucket_cap_bytes = options.reducer.first_bucket_cap_bytes = 100;
    train(options);
    options.gradient_as_bucket_view = false;
    train(options);
}

void buffers_are_those_of_rank_0() {
    nn::BatchNorm1d norm(3);
    DistributedDataParallel<nn::BatchNorm1d> ddp(norm);
    ddp(torch::full({4, 3}, float(rank() + 1)) * torch::arange(4).unsqueeze(1)).sum().backward();
    ddp(torch::zeros({4, 3})).sum().backward();  // begins with rank 0's, and changes all alike
    REQUIRE(torch::allclose(norm->running_mean, mean_of_ranks(norm->running_mean)));
    REQUIRE(norm->num_batches_tracked.item<int64_t>() == 2);
}

template <typename Act>
std::string error_of(Act&& act, tutti_status status) {
    try {
        act();
    } catch (const tutti::torch::Error& error) {
        REQUIRE(error.status() == status);
        return error.what();
    }
    REQUIRE(!"an error was expected");
    return "";
}

void errors_are_clear() {
    nn::Sequential empty(nn::Tanh{});
    error_of([&] { DistributedDataParallel<nn::Sequential> ddp(empty); },
             TUTTI_ERR_INVALID_ARGUMENT);

    nn::Embedding table(nn::EmbeddingOptions(10, 4).sparse(true));
    DistributedDataParallel<nn::Embedding> sparse(table);
    const auto text = error_of(
        [&] {
            sparse(torch::tensor({1, 2})).sum().backward();
        },
        TUTTI_ERR_UNSUPPORTED);
    REQUIRE(text.find("weight has got a sparse gradient") != std::string::npos);

    /* A parameter without a gradient, and no find_unused_parameters. */
    Net net = make_net();
    DistributedDataParallel<Net> strict(net);
    const auto missing =
        error_of([&] { strict(input(0), false).sum().backward(); }, TUTTI_ERR_MISMATCH);
    REQUIRE(missing.find("never.weight") != std::string::npos);
    REQUIRE(missing.find("rare.weight") != std::string::npos);
}

struct Failing : torch::autograd::Function<Failing> {
    static torch::Tensor forward(torch::autograd::AutogradContext*, const torch::Tensor& x) {
        return x.clone();
    }
    static torch::autograd::variable_list backward(torch::autograd::AutogradContext*,
                                                   const torch::autograd::variable_list&) {
        throw std::runtime_error("the program's own");
    }
};

/* The backward pass ends in the middle on all ranks: the next step says which gradients did not
 * come. */
void an_exception_in_backward_is_noticed() {
    nn::Linear first(4, 4), second(4, 4);
    nn::Sequential net(first, second);
    DistributedDataParallel<nn::Sequential> ddp(net);
    try {
        ddp.forward(torch::ones({1, 4}));
        second(Failing::apply(first(torch::ones({1, 4})))).sum().backward();
        REQUIRE(!"an error was expected");
    } catch (const std::runtime_error& error) {
        REQUIRE(std::string(error.what()).find("the program's own") != std::string::npos);
    }
    error_of([&] { ddp.forward(torch::ones({1, 4})); }, TUTTI_ERR_MISMATCH);
}

/* Gradients of a model that is gone are still there. */
void gradients_outlive_the_model() {
    nn::Linear net(2, 1);
    {
        Options options;
        options.gradient_as_bucket_view = true;
        DistributedDataParallel<nn::Linear> ddp(net, options);
        ddp.forward(torch::ones({1, 2})).sum().backward();
    }
    REQUIRE(torch::allclose(net->weight.grad(), torch::ones({1, 2})));
    net->forward(torch::ones({1, 2})).sum().backward();  // no hook is left
    REQUIRE(torch::allclose(net->weight.grad(), torch::full({1, 2}, 2.0f)));
}

void compressed_gradients() {
    nn::Linear net(20, 10);
    DistributedDataParallel<nn::Linear> ddp(net);
    tutti_error error = TUTTI_ERROR_INIT;
    REQUIRE(tutti_reducer_set_compression(ddp.reducer(), TUTTI_COMPRESSION_BFLOAT16, &error) ==
            TUTTI_OK);
    ddp(torch::full({1, 20}, float(rank() + 1))).sum().backward();
    const float expected = float(size() + 1) / 2;
    REQUIRE(torch::allclose(net->weight.grad(), torch::full({10, 20}, expected), 0.01));
}

/* The last rank goes, and the others train on. */
void it_goes_on_in_a_smaller_group() {
    nn::Linear net(2, 1);
    Options options;
    options.gradient_as_bucket_view = true;
    DistributedDataParallel<nn::Linear> ddp(net, options);
    const auto gradient = [&] {
        net->zero_grad();
        ddp(torch::full({1, 2}, float(rank() + 1))).sum().backward();
        return net->weight.grad()[0][0].item<float>();
    };
    REQUIRE(gradient() == float(size() + 1) / 2);
    tutti_error error = TUTTI_ERROR_INIT;
    tutti_group* smaller = nullptr;
    std::vector<int32_t> ranks;
    for (int32_t i = 0; i + 1 < size(); ++i) ranks.push_back(i);
    if (ranks.empty()) return;
    REQUIRE(tutti_new_group(TUTTI_GROUP_WORLD, ranks.data(), int32_t(ranks.size()), nullptr,
                            nullptr, nullptr, &smaller, &error) == TUTTI_OK);
    if (smaller == TUTTI_GROUP_NON_MEMBER) return;
    ddp.shrink(smaller);
    REQUIRE(gradient() == float(size()) / 2);
    tutti_group_release(smaller);
}

}  // namespace

int main() {
    torch::set_num_threads(1);
    tutti_error error = TUTTI_ERROR_INIT;
    if (tutti_init_process_group(nullptr, "env://", nullptr, -1, -1, nullptr, &error) != TUTTI_OK) {
        std::fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    gradients_are_means();
    buffers_are_those_of_rank_0();
    errors_are_clear();
    an_exception_in_backward_is_noticed();
    gradients_outlive_the_model();
    compressed_gradients();
    it_goes_on_in_a_smaller_group();
    tutti_destroy_process_group(TUTTI_GROUP_WORLD, nullptr, &error);
    if (rank() <= 0) std::puts("all of ddp_test is right");
    return 0;
}
