// Messages between two ranks, and what is collected between startCoalescing and endCoalescing.
#include <tutti/point_to_point.h>

#include <utility>

#include "issue.hpp"

namespace tutti_torch {

using c10d::OpType;

WorkPtr Backend::send(Tensors& tensors, int to, int tag) {
    Operands operands("send", Use::moves);
    const tutti_buffer buffer = operands.input(only(tensors, "send"));
    return issue_message(
        {OpType::SEND, "tutti:send", {}, true}, std::move(operands), tensors, [&](const At& at) {
            return tutti_send(at.group, &buffer, to, tag, at.options, at.work, at.error);
        });
}

WorkPtr Backend::recv(Tensors& tensors, int from, int tag) {
    Operands operands("recv", Use::moves);
    const tutti_buffer buffer = operands.output(only(tensors, "recv"));
    const OpType op = from < 0 ? OpType::RECVANYSOURCE : OpType::RECV;
    const char* title = from < 0 ? "tutti:recvAnySource" : "tutti:recv";
    return issue_message({op, title, {}, true}, std::move(operands), tensors, [&](const At& at) {
        return tutti_recv(at.group, &buffer, from, tag, at.options, nullptr, at.work, at.error);
    });
}

WorkPtr Backend::recvAnysource(Tensors& tensors, int tag) {
    return recv(tensors, -1, tag);
}

void Backend::startCoalescing() {
    if (is_collecting()) drop_batch();  // its end was never called
    std::thread::id nobody;
    if (!collector_.compare_exchange_strong(nobody, std::this_thread::get_id())) {
        C10_THROW_ERROR(ValueError, "tutti: another thread is coalescing calls of this group");
    }
    batch_.emplace();
}

WorkPtr Backend::endCoalescing() {
    if (!is_collecting()) {
        C10_THROW_ERROR(ValueError, "tutti: endCoalescing without startCoalescing");
    }
    Batch batch = take_batch();
    std::vector<tutti_work*> works = std::move(batch.messages);
    uint64_t number = 0;
    tutti_status status = TUTTI_OK;
    tutti_error error = no_error();
    if (batch.group != nullptr) {
        number = ++sequence_;
        const tutti_call_options options = call_options({}, batch.operands);
        tutti_work* work = nullptr;
        status = tutti_coalescing_end(batch.group, &options, &work, &error);
        if (status == TUTTI_OK) works.push_back(work);
        if (status != TUTTI_OK) tutti_group_release(batch.group);
    }
    auto running = std::make_shared<Running>(std::move(works), std::move(batch.operands),
                                             std::move(batch.results));
    auto all = c10::make_intrusive<RunningWork>(OpType::COALESCED, "tutti:coalesced",
                                                std::move(running), number);
    check(status, error);
    return all;
}

tutti_group* Backend::begin_coalescing(const at::Device& device) {
    tutti_coalescing_options options = TUTTI_COALESCING_OPTIONS_INIT;
    if (device.is_cuda()) {
        options.device_type = TUTTI_CUDA;
        options.device_index = device.index();
    }
    tutti_group* group = nullptr;
    tutti_error error = no_error();
    check(tutti_coalescing_begin(group_, &options, &group, &error), error);
    return group;
}

tutti_group* Backend::batch_group(const at::Device& device) {
    if (batch_->group == nullptr) batch_->group = begin_coalescing(device);
    return batch_->group;
}

Backend::Batch Backend::take_batch() {
    Batch batch = std::move(*batch_);
    batch_.reset();
    collector_.store({});
    return batch;
}

// The messages have started, and keep their tensors until they are done.
void Backend::drop_batch() {
    Batch batch = take_batch();
    tutti_group_release(batch.group);
    auto running =
        std::make_shared<Running>(std::move(batch.messages), std::move(batch.operands), Tensors());
    const auto unused =
        c10::make_intrusive<RunningWork>(OpType::COALESCED, nullptr, std::move(running), 0);
}

// The call runs with the others; its own work is nothing to wait for.
WorkPtr Backend::collected(const Terms& terms, Operands&& operands, Tensors results) {
    batch_->operands.append(std::move(operands));
    batch_->results.insert(batch_->results.end(), results.begin(), results.end());
    return c10::make_intrusive<FinishedWork>(terms.op, std::move(results), sequence_.load());
}

}  // namespace tutti_torch
