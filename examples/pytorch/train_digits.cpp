/* Data-parallel training in C++ with libtorch: the ranks share the images of every batch, and
 * DistributedDataParallel averages their gradients during the backward pass. All ranks take the
 * same steps, so their networks stay the same. Start it with
 *     tuttirun --nproc-per-node 4 train_digits FILE
 * where FILE is examples/data/digits.csv. */
#include <tutti/torch/ddp.hpp>

#include <cstdio>
#include <cstdlib>
#include <memory>

extern "C" {
#include "digits.h"
}

namespace {

constexpr int64_t batch_size = 64;
constexpr int epochs = 20;

struct Digits {
    torch::Tensor images, labels;

    [[nodiscard]] Digits slice(int64_t begin, int64_t end) const {
        return {images.slice(0, begin, end), labels.slice(0, begin, end)};
    }
};

Digits read_digits(const char* path) {
    size_t count = 0;
    const std::unique_ptr<digit, void (*)(void*)> all(digits_read(path, &count), std::free);
    if (all == nullptr) std::exit(1);
    Digits digits{torch::empty({int64_t(count), DIGITS_PIXELS}),
                  torch::empty({int64_t(count)}, torch::kInt64)};
    auto pixels = digits.images.accessor<float, 2>();
    auto labels = digits.labels.accessor<int64_t, 1>();
    for (int64_t i = 0; i < int64_t(count); ++i) {
        const digit& one = all.get()[i];
        for (int64_t pixel = 0; pixel < DIGITS_PIXELS; ++pixel) {
            pixels[i][pixel] = static_cast<float>(one.pixels[pixel]);
        }
        labels[i] = one.label;
    }
    return digits;
}

/* The same on all ranks. */
Digits shuffled(const Digits& digits) {
    const torch::Tensor order = torch::randperm(digits.images.size(0));
    return {digits.images.index_select(0, order), digits.labels.index_select(0, order)};
}

/* This rank's images; all ranks have equally many, so the mean of their means is that of all. */
Digits own_share(const Digits& digits) {
    const int64_t rank = tutti_get_rank(TUTTI_GROUP_WORLD);
    const int64_t share = digits.images.size(0) / tutti_get_world_size(TUTTI_GROUP_WORLD);
    return digits.slice(rank * share, (rank + 1) * share);
}

void train(const Digits& all) {
    torch::manual_seed(1998);
    torch::nn::Sequential net(torch::nn::Linear(DIGITS_PIXELS, 32), torch::nn::Tanh(),
                              torch::nn::Linear(32, DIGITS_CLASSES));
    tutti::torch::DistributedDataParallel model(net);
    torch::optim::SGD optimizer(net->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
    const bool speaks = tutti_get_rank(TUTTI_GROUP_WORLD) == 0;
    const Digits digits = shuffled(all);
    const int64_t count = digits.images.size(0), training = count * 4 / 5;
    const Digits tests = digits.slice(training, count);
    for (int epoch = 1; epoch <= epochs; ++epoch) {
        const Digits images = shuffled(digits.slice(0, training));
        double loss_of_last_batch = 0;
        for (int64_t begin = 0; begin + batch_size <= training; begin += batch_size) {
            const Digits batch = own_share(images.slice(begin, begin + batch_size));
            optimizer.zero_grad();
            torch::Tensor loss =
                torch::nn::functional::cross_entropy(model(batch.images), batch.labels);
            loss.backward();
            optimizer.step();
            loss_of_last_batch = loss.item<double>();
        }
        const torch::NoGradGuard no_grad;
        const torch::Tensor right = net->forward(tests.images).argmax(1).eq(tests.labels);
        if (speaks) {
            std::printf("epoch %2d: loss %.4f on rank 0, test accuracy %.2f %%\n", epoch,
                        loss_of_last_batch, 100 * right.to(torch::kFloat64).mean().item<double>());
        }
    }
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 2) {
        std::fprintf(stderr, "usage: train_digits FILE\n");
        return 2;
    }
    torch::set_num_threads(1);
    tutti_error error = TUTTI_ERROR_INIT;
    if (tutti_init_process_group(nullptr, "env://", nullptr, -1, -1, nullptr, &error) != TUTTI_OK) {
        std::fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    try {
        train(read_digits(arguments[1]));
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "%s\n", failure.what());
        return 1;
    }
    return tutti_destroy_process_group(TUTTI_GROUP_WORLD, nullptr, &error) == TUTTI_OK ? 0 : 1;
}
