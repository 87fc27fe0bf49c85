// A call while a backend from outside has it: the struct that the backend sees, what that points
// to, and the work that ends with it. Constant once it is posted, but for its flags.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "backend/backend.hpp"
#include "base/few.hpp"
#include "base/function_call.hpp"
#include "ext/tables.hpp"

namespace tutti::ext {

class PostedCall {
public:
    // On this rank of a group of that size; of an inline backend there is no work.
    PostedCall(FlatCall call, uint64_t sequence, const Deadline& deadline, int rank, int size,
               std::shared_ptr<Work> work = nullptr);
    PostedCall(const Send& message, const Deadline& deadline, int rank, std::shared_ptr<Work> work);
    PostedCall(const Receive& message, const Deadline& deadline, int rank,
               std::shared_ptr<Work> work);
    PostedCall(const PostedCall&) = delete;
    PostedCall& operator=(const PostedCall&) = delete;

    [[nodiscard]] tutti_backend_call* raw() { return &raw_; }
    [[nodiscard]] const tutti_backend_call* raw() const { return &raw_; }
    [[nodiscard]] const FlatCall& call() const { return call_; }
    [[nodiscard]] uint64_t sequence() const { return raw_.sequence; }
    [[nodiscard]] int rank() const { return rank_; }
    [[nodiscard]] int size() const { return size_; }
    [[nodiscard]] const std::shared_ptr<Work>& work() const { return work_; }
    [[nodiscard]] const Deadline& deadline() const { return deadline_; }
    // The end of its caller's stream before it; null: its device has no streams, or it is part of a
    // graph.
    [[nodiscard]] const std::shared_ptr<const device::Event>& begun() const { return begun_; }
    // Finds the call of a struct that a backend gives back.
    static const PostedCall& of(const tutti_backend_call* raw) {
        return *static_cast<const PostedCall*>(raw->host_data);
    }

    // The owner of the call, for the functions of the program that it calls.
    [[nodiscard]] const Operator& owner() const { return owner_; }

    // Goes with it; before it is posted.
    void attach(std::shared_ptr<void> resource) { attached_ = std::move(resource); }

    // Why it is to end, of a message; any thread.
    enum class Ending { None, Late, Cancelled };
    void end_as(Ending ending) { ending_ = ending; }
    [[nodiscard]] Ending ending() const { return ending_; }

private:
    void begin(tutti_dtype dtype, const Device& device, const Deadline& deadline);
    void point_to_pieces();

    tutti_backend_call raw_{};
    FlatCall call_;
    const Operator owner_ = InOperation::now();
    const int rank_;
    const int size_;
    const Deadline deadline_;
    const std::shared_ptr<Work> work_;
    const std::shared_ptr<const device::Event> begun_;
    const Few<tutti_piece> inputs_;
    const Few<tutti_piece> outputs_;
    std::vector<std::unique_ptr<PostedCall>> parts_;
    std::vector<const tutti_backend_call*> part_pointers_;
    std::shared_ptr<void> attached_;
    const std::shared_ptr<const void> memory_;  // that a send keeps; null: none
    std::atomic<Ending> ending_{Ending::None};
};

}  // namespace tutti::ext
