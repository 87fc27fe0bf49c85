// Runs the collectives of one group by Gloo's functions, with the tags that PyTorch gives them.
// They run one at a time.
#pragma once

#include <gloo/context.h>
#include <tutti/ext.h>

#include <functional>
#include <memory>
#include <vector>

#include "failure.hpp"

namespace tutti::gloo_module {

class Collectives {
public:
    Collectives(const tutti_backend_place& place, bool has_pytorch_peers,
                std::shared_ptr<gloo::Context> context)
        : host_(*place.host),
          rank_(place.rank),
          size_(place.size),
          has_pytorch_peers_(has_pytorch_peers),
          context_(std::move(context)) {}

    // Returns when the call has ended; throws Failure, or an exception of Gloo's.
    void run(const tutti_backend_call& call);

private:
    // Memory in which a call's pieces follow each other: their own, or a copy.
    class Flat {
    public:
        Flat(const tutti_piece* pieces, int64_t count, const tutti_backend_call& call, bool copies);
        [[nodiscard]] char* data() const { return data_; }
        [[nodiscard]] size_t bytes() const { return bytes_; }
        // Writes a copy back to the pieces.
        void scatter() const;

    private:
        const tutti_piece* const pieces_;
        const int64_t count_;
        const size_t element_size_;
        std::vector<char> copy_;
        char* data_ = nullptr;
        size_t bytes_ = 0;
        bool is_copy_ = false;
    };

    void run_one(const tutti_backend_call& call);
    [[nodiscard]] uint32_t next_tag() { return next_tag_++; }
    void compare(const tutti_backend_call& call);
    void compare_sizes(const tutti_backend_call& call);
    void broadcast(const tutti_backend_call& call);
    void barrier();
    void all_gather(const tutti_backend_call& call);
    void gather(const tutti_backend_call& call);
    void scatter(const tutti_backend_call& call);
    void all_to_all(const tutti_backend_call& call);
    void share(const void* input, size_t input_bytes, void* output,
               const std::vector<size_t>& bytes);
    void exchange(const void* input, std::vector<int64_t> sends, void* output,
                  std::vector<int64_t> receives);
    // reductions.cpp
    using Function = std::function<void(void*, const void*, const void*, size_t)>;
    void reduce(const tutti_backend_call& call);
    void reduce_by_gloo(const tutti_backend_call& call);
    void reduce_at_once(const tutti_backend_call& call);
    void reduce_with_pytorch(const tutti_backend_call& call);
    void all_reduce_with_pytorch(const tutti_backend_call& call, void* data, int64_t count);
    void all_reduce_many(const tutti_backend_call& list);
    [[nodiscard]] Function function_for(const tutti_backend_call& call) const;
    void all_reduce(void* data, int64_t count, size_t element_size, const Function& function);
    [[nodiscard]] bool must_reduce_at_once(const tutti_backend_call& call) const;

    const tutti_backend_host& host_;
    const int rank_, size_;
    const bool has_pytorch_peers_;
    const std::shared_ptr<gloo::Context> context_;
    uint32_t next_tag_ = 0;
};

// Bytes of so many elements.
[[nodiscard]] inline size_t bytes_of(int64_t count, const tutti_backend_call& call) {
    return static_cast<size_t>(count) * call.element_size;
}

}  // namespace tutti::gloo_module
