// Tensors as buffers. What tutti cannot use in place, because it is not contiguous or a lazy
// conjugate, is copied; results are copied back once the operation has ended.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>
#include <tutti/types.h>

#include <functional>
#include <vector>

namespace tutti_torch {

// How a call uses memory, and so which dtypes it takes: those that tutti has no numbers of, such
// as the 8-bit floats, can be moved as bytes, but not added.
enum class Use { moves, reduces };

// The elements of a buffer for one of the tensor's: above 1 if it goes as bytes.
int64_t scale_of(const at::Tensor& tensor, Use use);

// The tensors of one call. It keeps them, and their copies, until the call is done.
class Operands {
public:
    Operands(const char* call, Use use) : call_(call), use_(use) {}

    tutti_buffer input(const at::Tensor& tensor);   // is only read
    tutti_buffer output(const at::Tensor& tensor);  // is written, all of it
    tutti_buffer update(const at::Tensor& tensor);  // is read and written

    using Buffers = c10::SmallVector<tutti_buffer, 4>;
    Buffers inputs(const std::vector<at::Tensor>& tensors);
    Buffers outputs(const std::vector<at::Tensor>& tensors);

    // Of a call whose results are no buffers: keeps a tensor that it reads, and what finish() is
    // to do with the results.
    void read_until(const at::Tensor& tensor, std::function<void()> act);

    // Puts results where they belong. Once, when the operation has succeeded.
    void finish();

    // Of another call that ends at the same time.
    void append(Operands&& other);

    // The tensors that the operation reads, or those that it writes if it reads none.
    std::vector<at::Tensor> read() const;

    bool on_device() const { return device_.type() != at::kCPU; }
    at::Device device() const { return device_; }

private:
    struct Copied {
        at::Tensor to;
        at::Tensor from;
    };

    void check(const at::Tensor& tensor);
    tutti_buffer buffer_of(const at::Tensor& tensor);
    tutti_buffer result_of(const at::Tensor& tensor, bool is_read);

    const char* call_;
    Use use_;
    at::Device device_ = at::kCPU;
    c10::SmallVector<at::Tensor, 2> kept_;
    size_t read_count_ = 0;  // of kept_, at its front: calls name their inputs first
    std::vector<Copied> copied_;
    std::function<void()> at_end_;
};

}  // namespace tutti_torch
