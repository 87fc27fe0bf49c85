// The c10d backend "tutti": a group of tutti's behind PyTorch's process group. Every function
// checks and converts its tensors, and makes one call of tutti's: now, or with a work, as the
// caller asks. Functions of c10d::Backend that older versions of PyTorch lack have no `override`
// (see compat.hpp).
#pragma once

#include <tutti/collectives.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <thread>

#include "compat.hpp"
#include "error.hpp"
#include "options.hpp"
#include "tensor.hpp"
#include "work.hpp"

namespace tutti_torch {

using WorkPtr = c10::intrusive_ptr<c10d::Work>;
using Milliseconds = std::chrono::milliseconds;

// How a call is made.
struct Terms {
    c10d::OpType op;
    const char* title;  // "tutti:all_reduce", in profiles
    Milliseconds timeout;
    bool is_async;
};

// The ends of a call of tutti's: which group, how, and where to put a work and an error.
struct At {
    tutti_group* group;
    const tutti_call_options* options;
    tutti_work** work;
    tutti_error* error;
};

// One place where ranks of one group meet: what tutti_group_create takes.
struct Place {
    c10::intrusive_ptr<c10d::Store> store;
    std::string name;
    int rank = 0;
    int size = 1;
    std::optional<at::Device> device;
};

class Backend final : public c10d::Backend {
public:
    Backend(const Place& place, c10::intrusive_ptr<GroupOptions> options);
    // Takes the group.
    Backend(tutti_group* group, int rank, int size, c10::intrusive_ptr<GroupOptions> options);
    ~Backend() override;
    Backend(const Backend&) = delete;
    Backend& operator=(const Backend&) = delete;

    const std::string getBackendName() const override { return "tutti"; }
    c10::intrusive_ptr<c10d::Backend::Options> getBackendOptions() { return options_; }

    // collectives.cpp
    WorkPtr broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override;
    WorkPtr allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override;
    WorkPtr allreduce_coalesced(Tensors& tensors,
                                const c10d::AllreduceCoalescedOptions& options) override;
    WorkPtr reduce(Tensors& tensors, const c10d::ReduceOptions& options) override;
    WorkPtr reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                           const c10d::ReduceScatterOptions& options) override;
    WorkPtr _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                 const c10d::ReduceScatterOptions& options) override;
    WorkPtr reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                            const c10d::ReduceScatterOptions& options) override;
    WorkPtr barrier(const c10d::BarrierOptions& options) override;
    void monitoredBarrier(const c10d::BarrierOptions& options, bool wait_all_ranks) override;

    // gathers.cpp
    WorkPtr allgather(std::vector<Tensors>& outputs, Tensors& inputs,
                      const c10d::AllgatherOptions& options) override;
    WorkPtr _allgather_base(at::Tensor& output, at::Tensor& input,
                            const c10d::AllgatherOptions& options) override;
    WorkPtr allgather_coalesced(std::vector<Tensors>& outputs, Tensors& inputs,
                                const c10d::AllgatherOptions& options) override;
    WorkPtr allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                            const c10d::AllgatherOptions& options) override;
    WorkPtr gather(std::vector<Tensors>& outputs, Tensors& inputs,
                   const c10d::GatherOptions& options) override;
    WorkPtr gather_into_tensor(at::Tensor& output, at::Tensor& input,
                               const c10d::GatherOptions& options);
    WorkPtr scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                    const c10d::ScatterOptions& options) override;
    WorkPtr alltoall_base(at::Tensor& output, at::Tensor& input,
                          std::vector<int64_t>& output_splits, std::vector<int64_t>& input_splits,
                          const c10d::AllToAllOptions& options) override;
    WorkPtr alltoall(Tensors& outputs, Tensors& inputs,
                     const c10d::AllToAllOptions& options) override;

    // sparse.cpp
    WorkPtr allreduce_sparse(Tensors& tensors, const c10d::AllreduceOptions& options) override;

    // messages.cpp
    WorkPtr send(Tensors& tensors, int to, int tag) override;
    WorkPtr recv(Tensors& tensors, int from, int tag) override;
    WorkPtr recvAnysource(Tensors& tensors, int tag) override;
    bool supportsCoalescing() const { return true; }
    void startCoalescing() override;
    WorkPtr endCoalescing() override;

    // groups.cpp
    bool supportsSplitting() const { return true; }
    c10::intrusive_ptr<c10d::Backend> split(const c10::intrusive_ptr<c10d::Store>& store,
                                            const std::vector<int>& ranks,
                                            const c10::intrusive_ptr<c10d::Backend::Options>& opts);
    bool supportsShrinking() const { return true; }
    c10::intrusive_ptr<c10d::Backend> shrink(
        const std::vector<int64_t>& ranks_to_exclude, int shrink_flags,
        const c10::intrusive_ptr<c10d::Backend::Options>& opts);
    void setTimeout(Milliseconds timeout);
    uint64_t getSequenceNumberForGroup() override { return sequence_.load(); }
    void setSequenceNumberForGroup() override {}
    void abort();
    void shutdown();

    // For what PyTorch's class has no call of. It lives as long as this.
    tutti_group* handle() const { return group_; }

private:
    // Makes one call: `call` gets an At.
    template <typename Call>
    WorkPtr issue(const Terms& terms, Operands&& operands, Tensors results, Call&& call);
    // Makes one call of `count` calls: `call` makes each, from its number, the handle and an error.
    template <typename Call>
    WorkPtr issue_together(const Terms& terms, Operands&& operands, Tensors results, size_t count,
                           Call&& call);
    // A message; it has no number, and PyTorch does not say whether it will be waited for.
    template <typename Call>
    WorkPtr issue_message(const Terms& terms, Operands&& operands, Tensors results, Call&& call);
    WorkPtr collected(const Terms& terms, Operands&& operands, Tensors results);

    // Calls that were collected between startCoalescing and endCoalescing.
    struct Batch {
        tutti_group* group = nullptr;  // of tutti_coalescing_begin, once there is a collective
        std::vector<tutti_work*> messages;
        Operands operands{"coalesced", Use::moves};
        Tensors results;
    };
    bool is_collecting() const { return collector_.load() == std::this_thread::get_id(); }
    tutti_group* batch_group(const at::Device& device);
    tutti_group* begin_coalescing(const at::Device& device);
    Batch take_batch();
    void drop_batch();

    tutti_group* const group_;
    const c10::intrusive_ptr<GroupOptions> options_;
    std::atomic<uint64_t> sequence_{0};
    std::atomic<bool> has_ended_{false};
    // Between startCoalescing and endCoalescing: the thread that collects, which alone uses batch_.
    std::atomic<std::thread::id> collector_;
    std::optional<Batch> batch_;
};

// The one tensor of a call that takes a list of one: PyTorch once had several devices in a process.
const at::Tensor& only(const Tensors& tensors, const char* call);
const Tensors& only(const std::vector<Tensors>& lists, const char* call);

// Lists of outputs and inputs of equal length, one pair for each call.
void check_pairs(size_t outputs, size_t inputs, const char* call);

}  // namespace tutti_torch
