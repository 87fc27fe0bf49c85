#include "reduce_op.hpp"

#include <ATen/Functions.h>
#include <c10/util/Exception.h>

#include "error.hpp"
#include "tensor.hpp"

namespace tutti_torch {
namespace {

tutti_reduce_op with_factor(const at::Tensor& factor) {
    Operands operands("PREMUL_SUM", Use::reduces);
    const tutti_buffer buffer = operands.input(factor);
    tutti_reduce_op op = 0;
    tutti_error error = no_error();
    check(tutti_reduce_op_create_premul_sum(&buffer, &op, &error), error);
    return op;
}

}  // namespace

static_assert(int{c10d::ReduceOp::SUM} == int{TUTTI_SUM} &&
              int{c10d::ReduceOp::AVG} == int{TUTTI_AVG} &&
              int{c10d::ReduceOp::PRODUCT} == int{TUTTI_PRODUCT} &&
              int{c10d::ReduceOp::MIN} == int{TUTTI_MIN} &&
              int{c10d::ReduceOp::MAX} == int{TUTTI_MAX} &&
              int{c10d::ReduceOp::BAND} == int{TUTTI_BAND} &&
              int{c10d::ReduceOp::BOR} == int{TUTTI_BOR} &&
              int{c10d::ReduceOp::BXOR} == int{TUTTI_BXOR});

Op::Op(const c10d::ReduceOp& op) : op_(op.op_) {
    if (op.op_ != c10d::ReduceOp::PREMUL_SUM) return;
    const auto* factor = dynamic_cast<const c10d::NCCLPreMulSumSupplement*>(op.supplement_.get());
    if (factor == nullptr) {
        C10_THROW_ERROR(ValueError, "tutti: PREMUL_SUM needs a factor");
    }
    const bool is_tensor = factor->tensor_factor.defined();
    op_ = with_factor(is_tensor ? factor->tensor_factor.detach().cpu()
                                : at::scalar_tensor(factor->double_factor, at::kDouble));
    is_owned_ = true;
}

Op::~Op() {
    if (is_owned_) tutti_reduce_op_release(op_);
}

}  // namespace tutti_torch
