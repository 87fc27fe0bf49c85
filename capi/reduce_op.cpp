// tutti/reduce_op.h. Any thread.
#include "tutti/reduce_op.h"

#include <memory>
#include <string>

#include "arguments.hpp"
#include "base/function_call.hpp"
#include "buffers.hpp"
#include "guard.hpp"
#include "options.hpp"
#include "reduce/reduce_op.hpp"
#include "user.hpp"

namespace capi = tutti::capi;

namespace {

constexpr size_t max_name = 64;

std::string read_name(const char* name) {
    std::string read = capi::read_text(name, "name");
    if (read.empty() || read.size() > max_name) {
        capi::refuse("name has ", read.size(), " bytes; it must have 1 to ", max_name);
    }
    return read;
}

tutti::ReduceFunction callable(tutti_reduce_function function,
                               const std::shared_ptr<capi::User>& user) {
    return [function, user](const void* in, void* inout, int64_t count, tutti_dtype dtype) {
        const tutti::FunctionCall inside("reduce function");
        tutti_error error = TUTTI_ERROR_INIT;
        return capi::status_of(function(in, inout, count, dtype, user->get(), &error), error);
    };
}

}  // namespace

extern "C" {

void tutti_reduce_op_options_init(tutti_reduce_op_options* options, size_t size) {
    capi::write_default_options(options, size);
}

tutti_status tutti_reduce_op_create_premul_sum(const tutti_buffer* factor, tutti_reduce_op* out_op,
                                               tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const tutti::View view = capi::read_buffer(factor, "factor");
        if (view.count != 1) capi::refuse("factor.count is ", view.count, "; it must be 1");
        capi::need_output(out_op, "out_op");
        *out_op = tutti::ReduceOp::make(tutti::Factor(view.data, view.dtype));
    });
}

tutti_status tutti_reduce_op_create_user(const char* name, tutti_reduce_function function,
                                         void* user, tutti_release_function release_user,
                                         const tutti_reduce_op_options* options,
                                         tutti_reduce_op* out_op, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        if (function == nullptr) capi::refuse("function is NULL");
        const auto owned = std::make_shared<capi::User>(user, release_user);
        tutti::UserFunction made{read_name(name), callable(function, owned)};
        const tutti_reduce_op_options read = capi::read_options(options);
        capi::check_flag(read.non_commutative, "options.non_commutative");
        made.is_commutative = read.non_commutative == 0;
        capi::need_output(out_op, "out_op");
        *out_op = tutti::ReduceOp::make(std::move(made));
        owned->give();
    });
}

void tutti_reduce_op_release(tutti_reduce_op op) {
    if (!capi::forked()) tutti::ReduceOp::release(op);
}

}  // extern "C"
