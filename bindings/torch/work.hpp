// c10d::Work over works of tutti's: one that is done already, and one that is running.
#pragma once

#include <tutti/work.h>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include <memory>
#include <mutex>
#include <vector>

#include "tensor.hpp"

namespace tutti_torch {

using Tensors = std::vector<at::Tensor>;
using Future = c10::intrusive_ptr<c10::ivalue::Future>;

// A call that has returned with success.
class FinishedWork final : public c10d::Work {
public:
    FinishedWork(c10d::OpType op, Tensors results, uint64_t sequence);

    bool isCompleted() override { return true; }
    bool isSuccess() const override { return true; }
    std::exception_ptr exception() const override { return nullptr; }
    Tensors result() override { return results_; }
    void synchronize() override {}
    bool wait(std::chrono::milliseconds timeout) override;
    void abort() override {}
    Future getFuture() override;
    uint64_t getSequencenumber() const override { return sequence_; }

private:
    const Tensors results_;
    const uint64_t sequence_;
    std::mutex future_mutex_;
    Future future_;
};

// Works of tutti's that run, and the tensors they use. Whoever first sees that all have ended
// puts the results where they belong. It lives until they have ended, whether or not somebody waits.
class Running {
public:
    Running(std::vector<tutti_work*> works, Operands operands, Tensors results);
    ~Running();
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

    // Waits for the end and throws what the operation failed with.
    void wait(std::chrono::milliseconds timeout);
    bool is_done();
    // Of an operation that is done; nullptr if it succeeded or is running.
    std::exception_ptr failure();
    int32_t source_rank() const;
    double duration_ms() const;

    // Calls `act` on a thread of tutti's when all have ended, and keeps `self` until then.
    static void then(const std::shared_ptr<Running>& self, std::function<void()> act);

    const Tensors& results() const { return results_; }
    const Operands& operands() const { return operands_; }

private:
    void finish();
    void finish_or_throw();
    std::exception_ptr failure_of_works() const;

    const std::vector<tutti_work*> works_;
    Operands operands_;
    const Tensors results_;
    std::once_flag finished_;
    std::exception_ptr own_failure_;  // of what came after the works; written once, by finish()
};

class RunningWork final : public c10d::Work {
public:
    RunningWork(c10d::OpType op, const char* title, std::shared_ptr<Running> running,
                uint64_t sequence);
    ~RunningWork() override;

    bool isCompleted() override;
    bool isSuccess() const override;
    std::exception_ptr exception() const override { return running_->failure(); }
    int sourceRank() const override { return running_->source_rank(); }
    Tensors result() override { return running_->results(); }
    void synchronize() override { wait(std::chrono::milliseconds(0)); }
    bool wait(std::chrono::milliseconds timeout) override;
    void abort() override;
    Future getFuture() override;
    float getDuration() const override { return static_cast<float>(running_->duration_ms()); }
    uint64_t getSequencenumber() const override { return sequence_; }

private:
    void end_profile();

    const std::shared_ptr<Running> running_;
    const uint64_t sequence_;
    std::once_flag profiled_;
    std::mutex future_mutex_;
    Future future_;
};

}  // namespace tutti_torch
