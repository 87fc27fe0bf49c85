#include "tensor.hpp"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <c10/util/Exception.h>
#include <tutti/torch/dtypes.hpp>

#include <utility>

namespace tutti_torch {
namespace {

struct Element {
    tutti_dtype dtype = TUTTI_UINT8;
    int64_t scale = 0;  // elements for one of the tensor's; 0: tutti cannot take the dtype
    bool has_sums = false;
};

Element element_of(at::ScalarType type) {
    if (const auto dtype = tutti::torch::detail::dtype_of(type)) return {*dtype, 1, true};
    if (c10::isQIntType(type) || c10::isBitsType(type)) return {};
    return {TUTTI_UINT8, static_cast<int64_t>(c10::elementSize(type)), false};
}

tutti_device_type device_type_of(const at::Device& device, const char* call) {
    switch (device.type()) {
        case at::kCPU:
            return TUTTI_CPU;
        case at::kCUDA:
            return TUTTI_CUDA;
        case at::kXPU:
            return TUTTI_XPU;
        default:
            break;
    }
    C10_THROW_ERROR(ValueError, c10::str("tutti: ", call,
                                         " takes tensors on cpu and cuda, and not on ", device));
}

bool is_plain(const at::Tensor& tensor) {
    return tensor.is_contiguous() && !tensor.is_conj() && !tensor.is_neg();
}

at::Tensor space_like(const at::Tensor& tensor) {
    return at::empty(tensor.sizes(), tensor.options());
}

at::Tensor copy_of(const at::Tensor& tensor) {
    const at::NoGradGuard no_grad;
    at::Tensor copy = space_like(tensor);
    copy.copy_(tensor);
    return copy;
}

}  // namespace

int64_t scale_of(const at::Tensor& tensor, Use use) {
    const Element element = element_of(tensor.scalar_type());
    return use == Use::reduces ? 1 : element.scale;
}

void Operands::check(const at::Tensor& tensor) {
    if (!tensor.defined()) {
        C10_THROW_ERROR(ValueError, c10::str("tutti: ", call_, " got an undefined tensor"));
    }
    if (tensor.layout() != at::kStrided) {
        C10_THROW_ERROR(NotImplementedError,
                        c10::str("tutti: ", call_, " takes dense tensors, and this one has layout ",
                                 tensor.layout(), ": convert it by to_dense()"));
    }
}

tutti_buffer Operands::buffer_of(const at::Tensor& tensor) {
    const Element element = element_of(tensor.scalar_type());
    if (element.scale == 0 || (use_ == Use::reduces && !element.has_sums)) {
        C10_THROW_ERROR(TypeError, c10::str("tutti: ", call_, " does not take tensors of ",
                                            tensor.scalar_type(), ": convert them first"));
    }
    device_ = tensor.device();
    tutti_buffer buffer =
        TUTTI_BUFFER_INIT(tensor.data_ptr(), tensor.numel() * element.scale, element.dtype);
    if (on_device()) {
        buffer.device_type = device_type_of(device_, call_);
        buffer.device_index = device_.index();
    }
    kept_.push_back(tensor);
    return buffer;
}

tutti_buffer Operands::input(const at::Tensor& tensor) {
    check(tensor);
    ++read_count_;
    return buffer_of(is_plain(tensor) ? tensor : copy_of(tensor));
}

tutti_buffer Operands::result_of(const at::Tensor& tensor, bool is_read) {
    check(tensor);
    if (is_read) ++read_count_;
    if (is_plain(tensor)) return buffer_of(tensor);
    const at::Tensor copy = is_read ? copy_of(tensor) : space_like(tensor);
    copied_.push_back({tensor, copy});
    return buffer_of(copy);
}

tutti_buffer Operands::output(const at::Tensor& tensor) {
    return result_of(tensor, false);
}

tutti_buffer Operands::update(const at::Tensor& tensor) {
    return result_of(tensor, true);
}

Operands::Buffers Operands::inputs(const std::vector<at::Tensor>& tensors) {
    Buffers buffers;
    for (const at::Tensor& tensor : tensors) buffers.push_back(input(tensor));
    return buffers;
}

Operands::Buffers Operands::outputs(const std::vector<at::Tensor>& tensors) {
    Buffers buffers;
    for (const at::Tensor& tensor : tensors) buffers.push_back(output(tensor));
    return buffers;
}

void Operands::read_until(const at::Tensor& tensor, std::function<void()> act) {
    ++read_count_;
    kept_.push_back(tensor);
    at_end_ = std::move(act);
}

void Operands::finish() {
    if (at_end_) std::exchange(at_end_, nullptr)();
    if (copied_.empty()) return;
    const at::NoGradGuard no_grad;
    for (const Copied& one : copied_) one.to.copy_(one.from);
    copied_.clear();
}

std::vector<at::Tensor> Operands::read() const {
    const size_t count = read_count_ > 0 ? read_count_ : kept_.size();
    return {kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(count)};
}

void Operands::append(Operands&& other) {
    if (other.on_device()) device_ = other.device_;
    for (at::Tensor& tensor : other.kept_) kept_.push_back(std::move(tensor));
    for (Copied& one : other.copied_) copied_.push_back(std::move(one));
}

}  // namespace tutti_torch
