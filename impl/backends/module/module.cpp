// A backend from outside as one of ours: what the group asks goes to the table by Opened, what the
// backend finishes comes by host.cpp. Any thread.
#include "module.hpp"

#include <utility>

#include "backend/inline_backend.hpp"
#include "backend/stream_calls.hpp"
#include "capabilities.hpp"
#include "inline_watch.hpp"
#include "opened.hpp"

namespace tutti::ext {

namespace {

std::unique_ptr<Backend> as_backend(std::shared_ptr<Opened> opened);

// The common part of the two kinds.
template <typename Base>
class Module : public Base {
public:
    explicit Module(std::shared_ptr<Opened> opened) : at_(std::move(opened)) {}
    ~Module() override { at_->close(); }
    Module(const Module&) = delete;
    Module& operator=(const Module&) = delete;
    [[nodiscard]] const char* name() const override { return at_->name(); }
    [[nodiscard]] const Capabilities& capabilities() const override { return at_->capabilities(); }
    [[nodiscard]] bool can_split() const override { return at_->table().can_split(); }
    bool split(const BackendSplit& how, std::unique_ptr<Backend>& made) override {
        std::shared_ptr<Opened> opened;
        if (how.place)
            opened = std::make_shared<Opened>(at_->table().table(), at_->name(), *how.place);
        const bool has_split = at_->split(how, opened.get());
        if (has_split && opened) made = as_backend(std::move(opened));
        return has_split;
    }
    std::shared_ptr<void> alloc_memory(const Device& device, size_t bytes) override {
        return at_->table().alloc_memory(device, bytes);
    }
    void share_memory(const Device& device, void* memory, SplitSteps& steps) override {
        at_->share_memory(device, memory, steps);
    }
    void abort(const Status& status) noexcept override { at_->abort(status); }
    void left(int rank) noexcept override { at_->left(rank); }
    void leave() noexcept override { at_->table().leave(); }
    bool test() noexcept override { return at_->table().test(); }
    void start(const Send& call, const Deadline& deadline, std::shared_ptr<Work> work) override {
        at_->start(std::make_shared<PostedCall>(call, deadline, at_->rank(), std::move(work)));
    }
    void start(const Receive& call, const Deadline& deadline, std::shared_ptr<Work> work) override {
        at_->start(std::make_shared<PostedCall>(call, deadline, at_->rank(), std::move(work)));
    }
    bool cancel(const Work& receive) noexcept override { return at_->cancel(receive); }
    void begin_together() noexcept override { at_->table().together(true); }
    void end_together() noexcept override { at_->table().together(false); }

protected:
    const std::shared_ptr<Opened> at_;
};

class InlineModule final : public Module<InlineBackend> {
public:
    using Module::Module;
    void run(const FlatCall& call, uint64_t sequence, const Deadline& deadline) override {
        PostedCall posted(call, sequence, deadline, at_->rank(), at_->size());
        const InlineWatch watch(*at_, posted);
        at_->run(posted);
    }
    [[nodiscard]] bool polls_messages() const override {
        return ends_messages_later() && !at_->capabilities().callback_messages;
    }
    [[nodiscard]] bool ends_messages_later() const override { return at_->capabilities().messages; }
};

class PostingModule : public Module<Backend> {
public:
    using Module::Module;
    void post(Request request, std::shared_ptr<Work> work) override {
        at_->post(std::make_shared<PostedCall>(std::move(request.call), request.sequence,
                                               request.deadline, at_->rank(), at_->size(),
                                               std::move(work)));
    }
};

class StreamModule final : public PostingModule, public StreamCalls {
public:
    using PostingModule::PostingModule;
    [[nodiscard]] StreamCalls* as_stream_calls() override { return this; }
    FlatCall::Place join(FlatCall& call, void* stream) override { return at_->join(call, stream); }
    device::EventPointer begin(const Device& device, void* stream) override {
        return at_->begin(device, stream);
    }
    void post(Request request, std::shared_ptr<Work> work) override {
        if (request.call.fault) throw Error(*request.call.fault);
        PostingModule::post(std::move(request), std::move(work));
    }
    bool test() noexcept override { return at_->look(); }
    [[nodiscard]] bool runs_alone() const noexcept override { return at_->is_on_the_device(); }
};

std::unique_ptr<Backend> as_backend(std::shared_ptr<Opened> opened) {
    if (opened->capabilities().completion == Completion::Inline)
        return std::make_unique<InlineModule>(std::move(opened));
    if (opened->capabilities().completion == Completion::Stream) {
        return std::make_unique<StreamModule>(std::move(opened));
    }
    return std::make_unique<PostingModule>(std::move(opened));
}

std::unique_ptr<Backend> open(const tutti_backend_table& table, const BackendPlace& at) {
    auto opened = std::make_shared<Opened>(table, at.name, at);
    opened->open(at);
    return as_backend(std::move(opened));
}

}  // namespace

LoadedBackend backend_of(const tutti_backend_table& table) {
    return {[table](const BackendPlace& at) { return open(table, at); },
            [table](const std::string& settings) { return describe(table, settings); }};
}

LoadedBackend load_backend(const std::string& name) {
    const Library library = find_library(name);
    const std::string owner = cat(library.place, ": ");
    if (library.module.backend == nullptr) {
        throw Error(TUTTI_ERR_UNSUPPORTED, owner + "there is no backend in it");
    }
    return backend_of(read_table(library.module.backend, owner));
}

}  // namespace tutti::ext
