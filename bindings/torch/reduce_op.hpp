// The reduce ops of PyTorch, which have tutti's numbers. A sum with a factor lives as long as this.
#pragma once

#include <tutti/reduce_op.h>

#include "compat.hpp"

namespace tutti_torch {

class Op {
public:
    explicit Op(const c10d::ReduceOp& op);
    ~Op();
    Op(const Op&) = delete;
    Op& operator=(const Op&) = delete;

    operator tutti_reduce_op() const { return op_; }

private:
    tutti_reduce_op op_;
    bool is_owned_ = false;
};

}  // namespace tutti_torch
