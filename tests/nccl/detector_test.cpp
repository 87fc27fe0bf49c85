// Does the double of NCCL find what is wrong with how it is used? Each mistake is made in a process
// of its own, which must end with a report. Two communicators on two devices are two ranks.
#include <cuda.h>
#include <nccl.h>

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <utility>

extern "C" {
#include <cmocka.h>
}

namespace {

constexpr size_t count = 100000;

void* library(const char* variable) {
    void* const opened = dlopen(std::getenv(variable), RTLD_NOW | RTLD_LOCAL);
    if (opened == nullptr) std::_Exit(2);
    return opened;
}

template <typename Function>
Function* find(void* from, const char* symbol) {
    void* const found = dlsym(from, symbol);
    if (found == nullptr) std::_Exit(2);
    return reinterpret_cast<Function*>(found);
}

void* const cuda = library("TUTTI_CUDA_LIBRARY");
void* const nccl = library("TUTTI_NCCL_LIBRARY");
#define CUDA(name) find<decltype(name)>(cuda, #name)
#define STRING(name) #name
#define VERSIONED(name) find<decltype(name)>(cuda, STRING(name))
#define NCCL(name) find<decltype(name)>(nccl, #name)

void ok(int result) {
    if (result != 0 && result != ncclInProgress) std::_Exit(3);
}

// One of the two ranks.
struct Rank {
    CUcontext context = nullptr;
    CUstream stream = nullptr, other = nullptr;
    CUevent event = nullptr;
    CUdeviceptr memory = 0;
    ncclComm_t comm = nullptr;

    void use() const { ok(VERSIONED(cuCtxSetCurrent)(context)); }
    void open(int device) {
        ok(CUDA(cuDevicePrimaryCtxRetain)(&context, device));
        use();
        ok(CUDA(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING));
        ok(CUDA(cuStreamCreate)(&other, CU_STREAM_NON_BLOCKING));
        ok(CUDA(cuEventCreate)(&event, CU_EVENT_DISABLE_TIMING));
        ok(VERSIONED(cuMemAlloc)(&memory, count));
        ok(VERSIONED(cuMemsetD8Async)(memory, 1, count, stream));
    }
    void join(const ncclUniqueId& id, int rank) {
        ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
        config.version = 22800;
        config.blocking = 0;
        use();
        ok(NCCL(ncclCommInitRankConfig)(&comm, 2, id, rank, &config));
    }
    // `made` is there when this one is settled.
    void split(int color, int key, ncclComm_t& made) const {
        ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
        config.version = 22800;
        config.blocking = 0;
        use();
        ok(NCCL(ncclCommSplit)(comm, color, key, &made, &config));
    }
    [[nodiscard]] bool is_settled() const {
        ncclResult_t result = ncclSuccess;
        ok(NCCL(ncclCommGetAsyncError)(comm, &result));
        ok(result);
        return result == ncclSuccess;
    }
    [[nodiscard]] ncclResult_t sum(CUstream on) const {
        return sum(on, reinterpret_cast<void*>(memory));
    }
    [[nodiscard]] ncclResult_t sum(CUstream on, void* data) const {
        use();
        ok(NCCL(ncclGroupStart)());
        ok(NCCL(ncclAllReduce)(data, data, count, ncclUint8, ncclSum, comm,
                               reinterpret_cast<cudaStream_t>(on)));
        return NCCL(ncclGroupEnd)();
    }
    // Memory for windows, with numbers in it.
    [[nodiscard]] char* make_piece() const {
        use();
        void* made = nullptr;
        ok(NCCL(ncclMemAlloc)(&made, 2 * count));
        ok(VERSIONED(cuMemsetD8Async)(reinterpret_cast<CUdeviceptr>(made), 1, 2 * count, stream));
        return static_cast<char*>(made);
    }
    // `window` is there when this one is settled.
    void add(char* piece, ncclWindow_t& window, size_t bytes = 2 * count) const {
        use();
        ok(NCCL(ncclCommWindowRegister)(comm, piece, bytes, &window, NCCL_WIN_COLL_SYMMETRIC));
    }
    void remove(ncclWindow_t window) const {
        use();
        ok(NCCL(ncclCommWindowDeregister)(comm, window));
    }
};

struct Ranks {
    Ranks() {
        ok(CUDA(cuInit)(0));
        ncclUniqueId id;
        ok(NCCL(ncclGetUniqueId)(&id));
        for (int rank = 0; rank < 2; ++rank) both[rank].open(rank);
        for (int rank = 0; rank < 2; ++rank) both[rank].join(id, rank);
        settle();
    }
    void settle() {
        for (const Rank& one : both) {
            while (!one.is_settled()) {
            }
        }
    }
    void wait() {
        for (const Rank& one : both) {
            while (CUDA(cuStreamQuery)(one.stream) != CUDA_SUCCESS ||
                   CUDA(cuStreamQuery)(both[0].stream) != CUDA_SUCCESS) {
            }
        }
    }
    // A window of each rank, of new memory.
    void add_windows() {
        for (int rank = 0; rank < 2; ++rank) {
            pieces[rank] = both[rank].make_piece();
            both[rank].add(pieces[rank], windows[rank]);
        }
        settle();
    }
    // Until NCCL does not do it at once.
    void sum_until_in_progress() {
        for (int turn = 0; turn < 100; ++turn) {
            const ncclResult_t first = both[0].sum(both[0].stream);
            if (first == ncclInProgress) return;
            ok(both[1].sum(both[1].stream));
            settle();
        }
        std::_Exit(4);
    }
    Rank both[2];
    char* pieces[2] = {nullptr, nullptr};
    ncclWindow_t windows[2] = {nullptr, nullptr};
};

// The text of standard error of a process that makes the mistake; it must have ended by abort().
std::string report_of(const std::function<void(Ranks&)>& mistake) {
    int ends[2];
    if (pipe(ends) != 0) std::_Exit(2);
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        Ranks ranks;
        mistake(ranks);
        std::_Exit(0);
    }
    close(ends[1]);
    std::string text;
    char part[512];
    for (ssize_t got; (got = read(ends[0], part, sizeof part)) > 0;) {
        text.append(part, static_cast<size_t>(got));
    }
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    print_message("status %x: %s\n", static_cast<unsigned>(status), text.c_str());
    return WIFSIGNALED(status) || WEXITSTATUS(status) != 0 ? text : "nothing was found";
}

void expect(const char* wanted, const std::function<void(Ranks&)>& mistake) {
    const std::string report = report_of(mistake);
    assert_non_null(std::strstr(report.c_str(), wanted));
}

void what_is_right_is_not_reported(void**) {
    const std::string report = report_of([](Ranks& ranks) {
        for (Rank& one : ranks.both) ok(one.sum(one.stream));
        ranks.settle();
        ranks.wait();
    });
    assert_string_equal(report.c_str(), "nothing was found");
}

void splits_that_are_right_are_not_reported(void**) {
    const std::string report = report_of([](Ranks& ranks) {
        ncclComm_t none = nullptr;
        ncclComm_t made[2] = {nullptr, nullptr};
        for (int rank = 0; rank < 2; ++rank) ranks.both[rank].split(7, 1 - rank, made[rank]);
        ranks.settle();
        for (int rank = 0; rank < 2; ++rank) std::swap(ranks.both[rank].comm, made[rank]);
        ranks.settle();
        for (Rank& one : ranks.both) ok(one.sum(one.stream));
        ranks.settle();
        ranks.wait();
        ranks.both[0].split(NCCL_SPLIT_NOCOLOR, 0, none);
        ranks.both[1].split(0, 0, made[1]);
        ranks.settle();
        if (none != nullptr || made[1] == nullptr) std::_Exit(5);
    });
    assert_string_equal(report.c_str(), "nothing was found");
}

#if NCCL_VERSION_CODE >= 22800
void a_name_that_does_not_stay_is_found(void**) {
    expect("did not stay", [](Ranks&) {
        char name[] = "layers";
        ncclUniqueId id;
        ncclComm_t comm = nullptr;
        ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
        config.version = 22800;
        config.commName = name;
        ok(NCCL(ncclGetUniqueId)(&id));
        ok(NCCL(ncclCommInitRankConfig)(&comm, 1, id, 0, &config));
        name[0] = 'p';
        ok(NCCL(ncclCommAbort)(comm));
    });
}
#else
void a_name_that_does_not_stay_is_found(void**) {
    skip();  // nccl.h is too old
}
#endif

void a_split_while_calls_are_under_way_is_found(void**) {
    expect("with calls under way", [](Ranks& ranks) {
        ncclComm_t made = nullptr;
        ok(ranks.both[0].sum(ranks.both[0].stream));
        while (!ranks.both[0].is_settled()) {
        }
        ranks.both[0].split(0, 0, made);
    });
}

void a_call_while_one_is_in_progress_is_found(void**) {
    expect("in progress", [](Ranks& ranks) {
        ranks.sum_until_in_progress();
        ok(ranks.both[0].sum(ranks.both[0].stream));
    });
}

void two_communicators_of_a_device_at_once_are_found(void**) {
    expect("two communicators", [](Ranks& ranks) {
        ncclUniqueId id;
        Rank more[2] = {ranks.both[0], ranks.both[1]};
        ok(NCCL(ncclGetUniqueId)(&id));
        for (int rank = 0; rank < 2; ++rank) more[rank].join(id, rank);
        for (const Rank& one : more) {
            while (!one.is_settled()) {
            }
        }
        ranks.sum_until_in_progress();
        ok(more[0].sum(more[0].other));
    });
}

// The event of the end is recorded before NCCL has put the call on the stream.
void an_end_that_is_recorded_too_early_is_found(void**) {
    expect("RACE", [](Ranks& ranks) {
        ranks.sum_until_in_progress();
        const Rank& first = ranks.both[0];
        first.use();
        ok(CUDA(cuEventRecord)(first.event, first.stream));
        ok(CUDA(cuStreamWaitEvent)(first.other, first.event, 0));
        ok(VERSIONED(cuMemsetD8Async)(first.memory, 2, count, first.other));
        ok(ranks.both[1].sum(ranks.both[1].stream));
        ranks.settle();
        ranks.wait();
        while (CUDA(cuStreamQuery)(first.other) != CUDA_SUCCESS) {
        }
    });
}

void inputs_that_are_not_waited_for_are_found(void**) {
    expect("RACE", [](Ranks& ranks) {
        for (Rank& one : ranks.both) ok(one.sum(one.other));
        ranks.settle();
        for (const Rank& one : ranks.both) {
            while (CUDA(cuStreamQuery)(one.other) != CUDA_SUCCESS ||
                   CUDA(cuStreamQuery)(ranks.both[0].other) != CUDA_SUCCESS) {
            }
        }
        ranks.wait();
    });
}

void memory_that_is_freed_too_early_is_found(void**) {
    expect("FREED", [](Ranks& ranks) {
        for (Rank& one : ranks.both) ok(one.sum(one.stream));
        ranks.settle();
        ranks.both[0].use();
        ok(VERSIONED(cuMemFree)(ranks.both[0].memory));
    });
}

void a_destroy_before_the_flush_is_found(void**) {
    expect("has not been flushed", [](Ranks& ranks) {
        ok(ranks.both[0].sum(ranks.both[0].stream));
        while (!ranks.both[0].is_settled()) {
        }
        ok(NCCL(ncclCommDestroy)(ranks.both[0].comm));
    });
}

void windows_that_are_right_are_not_reported(void**) {
    const std::string report = report_of([](Ranks& ranks) {
        for (int turn = 0; turn < 3; ++turn) {
            ranks.add_windows();
            ncclWindow_t first[2] = {ranks.windows[0], ranks.windows[1]};
            char* const pieces[2] = {ranks.pieces[0], ranks.pieces[1]};
            ranks.add_windows();
            ranks.wait();
            for (int rank = 0; rank < 2; ++rank) ranks.both[rank].remove(first[rank]);
            for (int rank = 0; rank < 2; ++rank) {
                ranks.both[rank].use();
                ok(NCCL(ncclMemFree)(pieces[rank]));
                ok(ranks.both[rank].sum(ranks.both[rank].stream, ranks.pieces[rank] + 512));
            }
            ranks.settle();
            ranks.wait();
            for (int rank = 0; rank < 2; ++rank) ranks.both[rank].remove(ranks.windows[rank]);
        }
    });
    assert_string_equal(report.c_str(), "nothing was found");
}

void windows_of_different_sizes_are_found(void**) {
    expect("of different sizes", [](Ranks& ranks) {
        for (int rank = 0; rank < 2; ++rank) {
            ranks.both[rank].add(ranks.both[rank].make_piece(), ranks.windows[rank],
                                 count + static_cast<size_t>(rank));
        }
        ranks.settle();
    });
}

void a_window_in_another_order_is_found(void**) {
    expect("in different places among their calls", [](Ranks& ranks) {
        ok(ranks.both[0].sum(ranks.both[0].stream));
        while (!ranks.both[0].is_settled()) {
        }
        ranks.add_windows();
    });
}

void a_window_that_is_left_is_found(void**) {
    expect("that has windows", [](Ranks& ranks) {
        ranks.add_windows();
        ok(NCCL(ncclCommDestroy)(ranks.both[0].comm));
    });
}

void memory_that_is_freed_while_it_is_registered_is_found(void**) {
    expect("memory that is registered", [](Ranks& ranks) {
        ranks.add_windows();
        ranks.both[1].use();
        ok(NCCL(ncclMemFree)(ranks.pieces[1]));
    });
}

void freed_memory_that_is_registered_is_found(void**) {
    expect("freed memory", [](Ranks& ranks) {
        char* const piece = ranks.both[0].make_piece();
        ranks.both[0].use();
        while (CUDA(cuStreamQuery)(ranks.both[0].stream) != CUDA_SUCCESS) {
        }
        ok(NCCL(ncclMemFree)(piece));
        ranks.both[0].add(piece, ranks.windows[0]);
    });
}

void a_window_that_goes_before_its_call_is_found(void**) {
    expect("a call that uses it is under way", [](Ranks& ranks) {
        ranks.add_windows();
        ok(ranks.both[0].sum(ranks.both[0].stream, ranks.pieces[0]));
        while (!ranks.both[0].is_settled()) {
        }
        ranks.both[0].remove(ranks.windows[0]);
    });
}

void a_window_that_goes_twice_is_found(void**) {
    expect("what is not registered", [](Ranks& ranks) {
        ranks.add_windows();
        ranks.both[0].remove(ranks.windows[0]);
        ranks.both[0].remove(ranks.windows[0]);
    });
}

void the_end_of_a_window_by_the_other_function_is_found(void**) {
    expect("of another kind", [](Ranks& ranks) {
        ranks.add_windows();
        ok(NCCL(ncclCommDeregister)(ranks.both[0].comm, ranks.windows[0]));
    });
}

void windows_that_go_in_another_order_are_found(void**) {
    expect("have deregistered different windows", [](Ranks& ranks) {
        ranks.add_windows();
        ranks.both[0].remove(ranks.windows[0]);
        ranks.add_windows();
    });
}

void different_places_of_one_call_are_found(void**) {
    expect("different places in their windows", [](Ranks& ranks) {
        ranks.add_windows();
        for (int rank = 0; rank < 2; ++rank) {
            const Rank& one = ranks.both[rank];
            ok(one.sum(one.stream, ranks.pieces[rank] + 512 * rank));
        }
        ranks.settle();
        ranks.wait();
    });
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(what_is_right_is_not_reported),
        cmocka_unit_test(splits_that_are_right_are_not_reported),
        cmocka_unit_test(a_split_while_calls_are_under_way_is_found),
        cmocka_unit_test(a_name_that_does_not_stay_is_found),
        cmocka_unit_test(a_call_while_one_is_in_progress_is_found),
        cmocka_unit_test(two_communicators_of_a_device_at_once_are_found),
        cmocka_unit_test(an_end_that_is_recorded_too_early_is_found),
        cmocka_unit_test(inputs_that_are_not_waited_for_are_found),
        cmocka_unit_test(memory_that_is_freed_too_early_is_found),
        cmocka_unit_test(a_destroy_before_the_flush_is_found),
        cmocka_unit_test(windows_that_are_right_are_not_reported),
        cmocka_unit_test(windows_of_different_sizes_are_found),
        cmocka_unit_test(a_window_in_another_order_is_found),
        cmocka_unit_test(a_window_that_is_left_is_found),
        cmocka_unit_test(memory_that_is_freed_while_it_is_registered_is_found),
        cmocka_unit_test(freed_memory_that_is_registered_is_found),
        cmocka_unit_test(a_window_that_goes_before_its_call_is_found),
        cmocka_unit_test(a_window_that_goes_twice_is_found),
        cmocka_unit_test(the_end_of_a_window_by_the_other_function_is_found),
        cmocka_unit_test(windows_that_go_in_another_order_are_found),
        cmocka_unit_test(different_places_of_one_call_are_found),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
