// tutti/hooks.h: hooks of the program's as observers. Any thread.
#include "tutti/hooks.h"

#include <condition_variable>
#include <map>
#include <memory>
#include <vector>

#include "base/mutex.hpp"
#include "guard.hpp"
#include "options.hpp"
#include "record/observers.hpp"
#include "reduce/dtypes.hpp"
#include "user.hpp"

namespace capi = tutti::capi;
namespace record = tutti::record;

namespace {

std::vector<tutti_buffer> buffers_of(const std::vector<record::Buffer>& given) {
    std::vector<tutti_buffer> buffers;
    buffers.reserve(given.size());
    for (const record::Buffer& one : given) {
        tutti_buffer buffer{};
        buffer.data = const_cast<void*>(one.data);
        buffer.count = static_cast<int64_t>(one.bytes / tutti::element_size(one.dtype));
        buffer.dtype = one.dtype;
        buffer.device_type = one.device_type;
        buffer.device_index = one.device_index;
        buffers.push_back(buffer);
    }
    return buffers;
}

// An operation as hooks see it.
class Seen {
public:
    explicit Seen(const record::Operation& of)
        : inputs_(buffers_of(of.inputs)), outputs_(buffers_of(of.outputs)) {
        seen_.struct_size = sizeof seen_;
        seen_.rank = of.rank;
        seen_.world_size = of.size;
        seen_.peer = of.facts.peer;
        seen_.id = of.id;
        seen_.sequence_number = static_cast<int64_t>(of.sequence);
        seen_.name = of.name;
        seen_.group_name = of.group.c_str();
        seen_.tag_name = of.tag.c_str();
        seen_.inputs = inputs_.empty() ? nullptr : inputs_.data();
        seen_.outputs = outputs_.empty() ? nullptr : outputs_.data();
        seen_.input_count = static_cast<int64_t>(inputs_.size());
        seen_.output_count = static_cast<int64_t>(outputs_.size());
        seen_.op = of.facts.op;
        seen_.tag = of.facts.tag;
        seen_.is_async = (of.facts.flags & record::flag::in_background) != 0 ? 1 : 0;
    }
    operator const tutti_operation*() const { return &seen_; }

private:
    const std::vector<tutti_buffer> inputs_, outputs_;
    tutti_operation seen_{};
};

class Hooks final : public record::Observer {
public:
    explicit Hooks(const tutti_hooks& hooks)
        : hooks_(hooks), user_(hooks.user, hooks.release_user) {}

    void give() { user_.give(); }

    void before(const record::Operation& operation) override {
        if (hooks_.before != nullptr) call([&] { hooks_.before(Seen(operation), user_.get()); });
    }
    void after(const record::Operation& operation) noexcept override {
        if (hooks_.after != nullptr) call([&] { hooks_.after(Seen(operation), user_.get()); });
    }
    void aborted(const record::Operation& operation, const tutti::Status& why) noexcept override {
        if (hooks_.aborted == nullptr) return;
        call([&] {
            tutti_error error = TUTTI_ERROR_INIT;
            capi::report(why, "", &error);
            hooks_.aborted(Seen(operation), &error, user_.get());
        });
    }

    // No hook is called any more, but for one that calls this.
    void end() {
        tutti::Lock lock(mutex_);
        has_ended_ = true;
        while (running_ > own_calls) ended_.wait(lock);
    }

private:
    template <typename Act>
    void call(Act&& act) {
        {
            const tutti::Lock lock(mutex_);
            if (has_ended_) return;
            ++running_;
        }
        ++own_calls;
        act();
        --own_calls;
        const tutti::Lock lock(mutex_);
        --running_;
        ended_.notify_all();
    }

    // Hooks that this thread is in: at most one, for they hear of nothing that they start.
    static inline thread_local constinit int own_calls = 0;

    const tutti_hooks hooks_;
    capi::User user_;
    tutti::Mutex mutex_;
    tutti::Condition ended_;
    int running_ TUTTI_GUARDED_BY(mutex_) = 0;
    bool has_ended_ TUTTI_GUARDED_BY(mutex_) = false;
};

struct Table {
    tutti::Mutex mutex;
    uint64_t last TUTTI_GUARDED_BY(mutex) = 0;
    std::map<uint64_t, std::shared_ptr<Hooks>> hooks TUTTI_GUARDED_BY(mutex);
};

// Outlives all threads.
Table& table() {
    static auto& one = *new Table;
    return one;
}

}  // namespace

extern "C" {

void tutti_hooks_init(tutti_hooks* hooks, size_t size) {
    capi::write_default_options(hooks, size);
}

tutti_status tutti_hooks_add(const tutti_hooks* hooks, uint64_t* out_id, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        if (hooks == nullptr) capi::refuse("hooks is NULL");
        const tutti_hooks given = capi::read_options(hooks, "hooks");
        if (given.before == nullptr && given.after == nullptr && given.aborted == nullptr) {
            capi::refuse("hooks has neither before nor after nor aborted");
        }
        capi::need_output(out_id, "out_id");
        const auto added = std::make_shared<Hooks>(given);
        const tutti::Lock lock(table().mutex);
        const uint64_t id = table().last + 1;
        table().hooks.emplace(id, added);
        record::add_observer(added);
        added->give();
        *out_id = table().last = id;
    });
}

tutti_status tutti_hooks_remove(uint64_t id, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        std::shared_ptr<Hooks> removed;
        {
            const tutti::Lock lock(table().mutex);
            const auto place = table().hooks.find(id);
            if (place == table().hooks.end()) capi::refuse("there are no hooks with the id ", id);
            removed = std::move(place->second);
            table().hooks.erase(place);
        }
        record::remove_observer(*removed);
        removed->end();
    });
}

}  // extern "C"
