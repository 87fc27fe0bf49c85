// Do the algorithms that move data bring every piece to its place, whatever the sizes, the roots
// and the number of ranks? N ranks as threads.
#include "algorithm/algorithm.hpp"
#include "patterns.hpp"
#include "run_call.hpp"
#include "unit/transport/ranks.hpp"

namespace {

using namespace tutti;
using namespace tutti::algorithm;
using namespace tutti::test;

template <typename Algorithm>
struct Named {
    const char* name;
    Algorithm* how;
};

constexpr Named<decltype(ring_all_gather)> all_gathers[] = {{"ring", ring_all_gather},
                                                            {"bruck", bruck_all_gather}};
constexpr Named<decltype(tree_broadcast)> broadcasts[] = {{"tree", tree_broadcast},
                                                          {"direct", direct_broadcast}};
constexpr Named<decltype(tree_gather)> gathers[] = {{"tree", tree_gather},
                                                    {"direct", direct_gather}};
constexpr Named<decltype(tree_scatter)> scatters[] = {{"tree", tree_scatter},
                                                      {"direct", direct_scatter}};
constexpr Named<decltype(bruck_all_to_all)> all_to_alls[] = {{"pairwise", pairwise_all_to_all},
                                                             {"bruck", bruck_all_to_all}};
constexpr size_t even_sizes[] = {0, 1, 13, eager, eager + 1, 70'001};

// The kind of the call does not matter to the algorithms.
Exchange exchange_for(Channel& channel, uint64_t number) {
    return {channel, fingerprint(Barrier{}), number, ample()};
}

void expect(const Buffer& got, int from, int to, size_t bytes, const std::string& what) {
    require(same(got, marked(from, to, bytes)), cat(what, ": the piece of rank ", from));
}

void broadcast_brings_the_data_of_the_root_to_every_rank(void**) {
    for (int size = 2; size <= max_ranks; ++size) {
        ChannelWorld world(size);
        for (const size_t bytes : {size_t{0}, size_t{1}, eager, eager + 1, size_t{1'300'001}}) {
            for (const int root : {0, size / 2, size - 1}) {
                for (const auto& one : broadcasts) {
                    world.together([&](Channel& channel, uint64_t number) {
                        const bool is_root = channel.rank() == root;
                        Buffer data = is_root ? marked(root, size, bytes) : Buffer(bytes);
                        Exchange exchange = exchange_for(channel, number);
                        one.how(exchange, data, root);
                        expect(data, root, size, bytes, cat(one.name, " broadcast of ", bytes));
                    });
                }
            }
        }
    }
}

void all_gather_brings_every_part_to_every_rank(void**) {
    for (int size = 2; size <= max_ranks; ++size) {
        ChannelWorld world(size);
        for (const Sizes& sizes : size_lists(size, 1)) {
            for (const auto& one : all_gathers) {
                world.together([&](Channel& channel, uint64_t number) {
                    Buffers parts;
                    for (const size_t bytes : sizes) parts.emplace_back(bytes);
                    const auto own = static_cast<size_t>(channel.rank());
                    parts[own] = marked(channel.rank(), 0, sizes[own]);
                    Exchange exchange = exchange_for(channel, number);
                    one.how(exchange, spans(parts));
                    for (int from = 0; from < size; ++from) {
                        const auto place = static_cast<size_t>(from);
                        expect(parts[place], from, 0, sizes[place],
                               cat(one.name, " of ", text(sizes)));
                    }
                });
            }
        }
    }
}

void gather_to(ChannelWorld& world, int root, const Sizes& sizes,
               const Named<decltype(tree_gather)>& one) {
    world.together([&](Channel& channel, uint64_t number) {
        const int rank = channel.rank();
        const Buffer input = marked(rank, root, sizes[static_cast<size_t>(rank)]);
        Buffers outputs;
        if (rank == root) {
            for (const size_t bytes : sizes) outputs.emplace_back(bytes);
        }
        Exchange exchange = exchange_for(channel, number);
        one.how(exchange, input, spans(outputs), root);
        for (size_t from = 0; from < outputs.size(); ++from) {
            expect(outputs[from], static_cast<int>(from), root, sizes[from],
                   cat(one.name, " of ", text(sizes), " to ", root));
        }
    });
}

void gather_brings_every_input_to_the_root(void**) {
    for (int size = 2; size <= max_ranks; ++size) {
        ChannelWorld world(size);
        for (int root = 0; root < size; ++root) {
            for (const size_t bytes : even_sizes) {
                for (const auto& one : gathers) {
                    gather_to(world, root, Sizes(static_cast<size_t>(size), bytes), one);
                }
            }
        }
        for (const Sizes& sizes : size_lists(size, 1))
            gather_to(world, size / 2, sizes, gathers[1]);
    }
}

void scatter_from(ChannelWorld& world, int root, const Sizes& sizes,
                  const Named<decltype(tree_scatter)>& one) {
    world.together([&](Channel& channel, uint64_t number) {
        const int rank = channel.rank();
        Buffers inputs;
        for (int to = 0; rank == root && to < world.size(); ++to) {
            inputs.push_back(marked(root, to, sizes[static_cast<size_t>(to)]));
        }
        const size_t bytes = sizes[static_cast<size_t>(rank)];
        Buffer output(bytes);
        Exchange exchange = exchange_for(channel, number);
        one.how(exchange, spans<const std::byte>(inputs), output, root);
        expect(output, root, rank, bytes, cat(one.name, " of ", text(sizes)));
    });
}

void scatter_brings_every_rank_its_piece(void**) {
    for (int size = 2; size <= max_ranks; ++size) {
        ChannelWorld world(size);
        for (int root = 0; root < size; ++root) {
            for (const size_t bytes : even_sizes) {
                for (const auto& one : scatters) {
                    scatter_from(world, root, Sizes(static_cast<size_t>(size), bytes), one);
                }
            }
        }
        for (const Sizes& sizes : size_lists(size, 1)) {
            scatter_from(world, size / 2, sizes, scatters[1]);
        }
    }
}

template <typename SizeOf>
void exchange_all(ChannelWorld& world, const Named<decltype(bruck_all_to_all)>& one,
                  SizeOf&& size_of) {
    world.together([&](Channel& channel, uint64_t number) {
        const int rank = channel.rank();
        Buffers inputs;
        Buffers outputs;
        for (int other = 0; other < world.size(); ++other) {
            inputs.push_back(marked(rank, other, size_of(rank, other)));
            outputs.emplace_back(size_of(other, rank));
        }
        Exchange exchange = exchange_for(channel, number);
        one.how(exchange, spans<const std::byte>(inputs), spans(outputs));
        for (int from = 0; from < world.size(); ++from) {
            expect(outputs[static_cast<size_t>(from)], from, rank, size_of(from, rank), one.name);
        }
    });
}

void all_to_all_brings_every_piece_to_its_place(void**) {
    for (int size = 2; size <= max_ranks; ++size) {
        ChannelWorld world(size);
        for (const size_t bytes : even_sizes) {
            for (const auto& one : all_to_alls) {
                exchange_all(world, one, [&](int, int) { return bytes; });
            }
        }
        for (const size_t unit : {size_t{1}, eager / 3, size_t{300'000}}) {
            exchange_all(world, all_to_alls[0], [&](int from, int to) {
                return static_cast<size_t>((from * 5 + to * 3) % 4) * unit;  // a quarter is empty
            });
        }
    }
}

// The call, as the tables serve it, on memory that is in place where a call has that.
void chosen_algorithms_work_in_place(void**) {
    for (int size = 1; size <= max_ranks; ++size) {
        ChannelWorld world(size);
        for (const size_t bytes : {size_t{0}, size_t{3}, size_t{700}, eager + 1, size_t{40'000}}) {
            const auto count = static_cast<int64_t>(bytes);
            world.together([&](Channel& channel, uint64_t number) {
                const int rank = channel.rank();
                Buffer whole(bytes * static_cast<size_t>(size));
                const auto view = [&](int place) {
                    return View{whole.data() + static_cast<size_t>(place) * bytes, count,
                                TUTTI_UINT8};
                };
                const auto fill = [&](int from, int place) {
                    const Buffer data = marked(from, place, bytes);
                    std::ranges::copy(data, view(place).bytes().begin());
                };
                const View all{whole.data(), count * size, TUTTI_UINT8};
                uint64_t step = number * 100;
                fill(rank, rank);
                run_call(channel, AllGatherIntoTensor{view(rank), all}, ++step, ample());
                for (int from = 0; from < size; ++from) {
                    require(same(view(from).bytes(), marked(from, from, bytes)),
                            cat("all_gather_into_tensor of ", bytes, ", part ", from));
                }
                for (int to = 0; to < size; ++to) fill(rank, to);
                run_call(channel, AllToAllSingle{all, all, {}, {}}, ++step, ample());
                for (int from = 0; from < size; ++from) {
                    require(same(view(from).bytes(), marked(from, rank, bytes)),
                            cat("all_to_all_single of ", bytes, ", piece ", from));
                }
                Views views;
                ConstViews inputs;
                for (int to = 0; to < size; ++to) {
                    fill(rank, to);
                    views.push_back(view(to));
                    inputs.push_back(view(to));
                }
                run_call(channel, AllToAll{inputs, views}, ++step, ample());
                for (int from = 0; from < size; ++from) {
                    require(same(view(from).bytes(), marked(from, rank, bytes)),
                            cat("all_to_all of ", bytes, ", piece ", from));
                }
            });
        }
    }
}

// One collective follows the other; a message of one must never be taken for one of the next.
void collectives_of_all_kinds_follow_each_other(void**) {
    constexpr int size = 5;
    ChannelWorld world(size);
    on_ranks(size, [&](int rank) {
        uint64_t number = 0;
        for (int round = 0; round < 40; ++round) {
            const int root = round % size;
            const auto bytes = static_cast<size_t>(1 + round * 331);
            Buffer whole(bytes * size);
            std::vector<View> pieces;
            for (size_t place = 0; place < size; ++place) {
                pieces.push_back(
                    {whole.data() + place * bytes, static_cast<int64_t>(bytes), TUTTI_UINT8});
            }
            Buffer mine = marked(rank, round, bytes);
            const View own{mine.data(), static_cast<int64_t>(bytes), TUTTI_UINT8};
            run_call(world[rank], Gather{own, rank == root ? pieces : Views{}, root}, ++number,
                     ample());
            run_call(world[rank],
                     Scatter{rank == root ? ConstViews(pieces.begin(), pieces.end()) : ConstViews{},
                             own, root},
                     ++number, ample());
            require(same(mine, marked(rank, round, bytes)), "gather and scatter");
            run_call(world[rank], AllGather{own, pieces}, ++number, ample());
            for (int from = 0; from < size; ++from) {
                require(same(pieces[static_cast<size_t>(from)].bytes(), marked(from, round, bytes)),
                        "all_gather");
            }
        }
    });
}

// More ranks than anything is laid out for: trees, rounds and rings with odd ends.
void many_ranks_find_each_other(void**) {
    const int size = channel_name() == "gloo" || SANITIZED ? 19 : 67;  // Gloo connects all with all
    ChannelWorld world(size);
    for (const int64_t count : {int64_t{1}, int64_t{300}, int64_t{3000}}) {
        world.together([&](Channel& channel, uint64_t number) {
            const int rank = channel.rank();
            const auto ranks = static_cast<size_t>(size);
            std::vector<int32_t> row(ranks * static_cast<size_t>(count));
            std::vector<int32_t> other(row.size());
            const View all{row.data(), size * count, TUTTI_INT32};
            const View result{other.data(), size * count, TUTTI_INT32};
            const View own = all.part(rank * count, count);
            uint64_t step = number * 100;
            const auto holds = [&](const std::vector<int32_t>& data, auto&& value_from) {
                for (size_t index = 0; index < data.size(); ++index) {
                    const auto from = static_cast<int32_t>(index / static_cast<size_t>(count));
                    if (data[index] != value_from(from)) return false;
                }
                return true;
            };
            std::fill_n(static_cast<int32_t*>(own.data), count, rank + 1);
            run_call(channel, AllGatherIntoTensor{own, all}, ++step, ample());
            require(holds(row, [](int32_t from) { return from + 1; }), "all_gather_into_tensor");
            for (size_t index = 0; index < row.size(); ++index) {
                row[index] += rank * 1000;  // what rank r gives rank s is 1000 r + s + 1
            }
            run_call(channel, AllToAllSingle{all, result, {}, {}}, ++step, ample());
            require(holds(other, [&](int32_t from) { return 1000 * from + rank + 1; }),
                    "all_to_all_single");
            const View part = result.part(0, count);
            run_call(channel, ReduceScatterTensor{all, part, TUTTI_SUM}, ++step, ample());
            const int32_t sum = size * (size - 1) / 2 * 1000 + size * (rank + 1);
            require(std::count(other.begin(), other.begin() + count, sum) == count,
                    "reduce_scatter_tensor");
            Views pieces;
            for (int to = 0; to < size; ++to) pieces.push_back(all.part(to * count, count));
            std::ranges::fill(other, rank);
            const bool is_root = rank == size / 2;
            run_call(channel, Gather{part, is_root ? pieces : Views{}, size / 2}, ++step, ample());
            require(!is_root || holds(row, [](int32_t from) { return from; }), "gather");
            const ConstViews given(pieces.begin(), pieces.end());
            run_call(channel, Scatter{is_root ? given : ConstViews{}, part, size / 2}, ++step,
                     ample());
            require(other.front() == rank, "scatter");
            run_call(channel, Reduce{result, all, TUTTI_MAX, 1}, ++step, ample());
            require(rank != 1 || row.back() == size - 1, "reduce");
        });
    }
}

}  // namespace

int main(int count, char** arguments) {
    choose_channel(count, arguments);
    const CMUnitTest tests[] = {
        TUTTI_TEST(broadcast_brings_the_data_of_the_root_to_every_rank),
        TUTTI_TEST(all_gather_brings_every_part_to_every_rank),
        TUTTI_TEST(gather_brings_every_input_to_the_root),
        TUTTI_TEST(scatter_brings_every_rank_its_piece),
        TUTTI_TEST(all_to_all_brings_every_piece_to_its_place),
        TUTTI_TEST(chosen_algorithms_work_in_place),
        TUTTI_TEST(collectives_of_all_kinds_follow_each_other),
        TUTTI_TEST(many_ranks_find_each_other),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
