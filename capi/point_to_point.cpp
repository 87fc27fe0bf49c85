// tutti/point_to_point.h. Any thread.
#include "tutti/point_to_point.h"

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "arguments.hpp"
#include "buffers.hpp"
#include "call_memory.hpp"
#include "guard.hpp"
#include "issue.hpp"
#include "options.hpp"

namespace capi = tutti::capi;

namespace {

static_assert(sizeof(tutti_p2p_op) == 96 && offsetof(tutti_p2p_op, buffer) == 16);

using Batch = std::pmr::vector<tutti::Message>;

void read_op(const tutti_p2p_op& op, const tutti::Argument& name, int group_size, void* stream,
             Batch& batch) {
    const tutti::View view = capi::read_buffer(op.buffer, name.at("buffer"));
    if (op.reserved_0 != 0 || op.reserved[0] != 0 || op.reserved[1] != 0) {
        capi::refuse(name.text(), " has a reserved field that is not 0; use TUTTI_P2P_OP_INIT");
    }
    const auto add = [&](auto&& message) {
        message.stream = stream;
        try {
            check(message, group_size);
        } catch (const tutti::Error& fault) {
            capi::refuse(name.text(), ": ", fault.status().message);
        }
        batch.emplace_back(std::move(message));
    };
    if (op.kind == TUTTI_ISEND) {
        add(tutti::Send{view, op.group_peer, op.tag});
    } else if (op.kind == TUTTI_IRECV) {
        add(tutti::Receive{view, op.group_peer, op.tag});
    } else {
        capi::refuse(name.text(), ".kind is ", op.kind, ", neither TUTTI_ISEND nor TUTTI_IRECV");
    }
}

void read_ops(const tutti_p2p_op* ops, size_t count, int group_size, void* stream, Batch& batch) {
    capi::need_array(ops, count, "ops");
    batch.reserve(count);
    for (size_t i = 0; i < count; ++i) {
        read_op(ops[i], {"ops", static_cast<int64_t>(i)}, group_size, stream, batch);
    }
}

using Works = std::vector<std::shared_ptr<tutti::Work>>;

// on_done is called once for the batch.
void call_after_last(const tutti_call_options& options, const Works& works) {
    if (works.empty()) {
        tutti::Work nothing;
        capi::call_on_done(options, nothing);
        return nothing.finish({});
    }
    const auto left = std::make_shared<std::atomic<size_t>>(works.size());
    for (const auto& work : works) {
        work->then(
            [left, on_done = options.on_done, user = options.on_done_user](const tutti::Status&) {
                if (left->fetch_sub(1) == 1) on_done(user);
            });
    }
}

}  // namespace

extern "C" {

tutti_status tutti_send(tutti_group* group, const tutti_buffer* buffer, int32_t group_dst,
                        int32_t tag, const tutti_call_options* options, tutti_work** work,
                        tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const capi::GroupPin pin = capi::need_group(group);
        const tutti::Send call{capi::read_buffer(buffer, "buffer"), group_dst, tag};
        capi::issue(*pin, call, options, work);
    });
}

tutti_status tutti_recv(tutti_group* group, const tutti_buffer* buffer, int32_t group_src,
                        int32_t tag, const tutti_call_options* options, int32_t* out_group_src,
                        tutti_work** work, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const capi::GroupPin pin = capi::need_group(group);
        tutti::Receive call{capi::read_buffer(buffer, "buffer"), group_src, tag};
        if (work != nullptr) {
            if (out_group_src != nullptr) {
                capi::refuse("out_group_src must be NULL with a work; ask tutti_work_source_rank");
            }
            capi::issue(*pin, call, options, work);
            return;
        }
        const tutti_call_options given = capi::read_call_options(options, false);
        call.stream = given.stream;
        call.tag_name = capi::tag_of(given);
        const int source = pin->run(call, given.timeout_ms);
        if (out_group_src != nullptr) *out_group_src = source;
    });
}

tutti_status tutti_batch_isend_irecv(tutti_group* group, const tutti_p2p_op* ops, int64_t count,
                                     const tutti_call_options* options, tutti_work** works,
                                     tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const capi::GroupPin pin = capi::need_group(group);
        const auto given = capi::read_call_options(options, works != nullptr);
        capi::CallMemory memory;
        Batch batch(memory.lists());
        read_ops(ops, capi::read_count(count, "count"), pin->size(), given.stream, batch);
        for (tutti::Message& message : batch) {
            std::visit([&](auto& one) { one.tag_name = capi::tag_of(given); }, message);
        }
        if (works == nullptr) return pin->run(batch, given.timeout_ms);
        std::pmr::vector<capi::Reserved<tutti_work>> slots(batch.size(), memory.lists());
        capi::prepare_on_done(given);
        auto started = pin->start(batch, given.timeout_ms);
        const bool is_told = given.on_done != nullptr;
        for (size_t i = 0; i < started.size(); ++i) {
            works[i] = slots[i].publish(is_told ? started[i] : std::move(started[i]));
        }
        if (is_told) call_after_last(given, started);
    });
}

}  // extern "C"
