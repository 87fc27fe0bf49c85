// The library's side of backends from outside: tutti_backend_host. Any thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "posted_call.hpp"

namespace tutti::ext {

const tutti_backend_host& host();
// As its `finish`.
void finish(const tutti_backend_call* raw, tutti_status code, int32_t source,
            const tutti_error* error);

// How ranks gather strings while a backend is opened or split.
using Gather = std::function<std::vector<std::string>(const std::string& mine)>;

// An instance of a backend, as works that it has know it.
class Instance {
public:
    virtual ~Instance() = default;
    Instance(const Instance&) = delete;
    Instance& operator=(const Instance&) = delete;
    // How a work of it ends, before the work is told.
    virtual void ending(const PostedCall& call, Status& status) noexcept = 0;
    // For a backend that completes on streams: the stream of a call, and that all of it is there.
    virtual void* stream(const PostedCall& call) = 0;
    virtual void enqueued(const std::shared_ptr<PostedCall>& call) noexcept = 0;
    [[nodiscard]] virtual bool all_ended() const = 0;  // of what is on streams

protected:
    Instance() = default;
};

// `host_data` of a place leads here.
struct PlaceLinks {
    Gather gather;
    const Instance& instance;
};

// The calls that backends have, which finish() of the host takes away.
void keep(const std::shared_ptr<PostedCall>& call, const std::shared_ptr<Instance>& owner);
// It never began.
void forget(const PostedCall& call) noexcept;
// Null: it has ended.
std::shared_ptr<PostedCall> find(const tutti_backend_call* raw) noexcept;
std::shared_ptr<PostedCall> find(const Instance& owner, const Work& work) noexcept;
// Takes all of an instance away, for what the backend may do to them is no longer known: they stay
// in memory for good.
std::vector<std::shared_ptr<PostedCall>> give_up(const Instance& owner);

}  // namespace tutti::ext
