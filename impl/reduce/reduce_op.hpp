// A reduce op as calls carry it: a number of types.h, or one that a caller has made and that stands
// in the table of this process. A ReduceOp keeps what it names alive, also after its release. Any
// thread; the table has a mutex, which built-in ops never touch.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>

#include "factor.hpp"
#include "tutti/types.h"

namespace tutti {

// inout[i] = in[i] op inout[i], where `in` comes from the lower ranks; returns TUTTI_OK or any
// failure. The C functions' tutti_reduce_function.
using ReduceFunction = tutti_status (*)(const void* in, void* inout, int64_t count,
                                        tutti_dtype dtype, void* user);

struct UserFunction {
    std::string name;  // the same on all ranks
    ReduceFunction function = nullptr;
    void* user = nullptr;
    bool is_commutative = true;
    // Made with the op: of the name and the properties, and by it messages find the name.
    uint32_t mark = 0;
    std::shared_ptr<const std::string> known_name = nullptr;
};

class ReduceOp {
public:
    using Made = std::variant<Factor, UserFunction>;

    // Looks a number up that is not built in. One that is not found is refused later, by
    // why_not_reducible().
    ReduceOp(tutti_reduce_op number);
    bool operator==(tutti_reduce_op number) const { return number_ == number; }

    // Makes an op and returns its number, which release() ends once; others are ignored.
    // OUT_OF_MEMORY if too many are alive.
    static tutti_reduce_op make(Made made);
    static void release(tutti_reduce_op number) noexcept;

    [[nodiscard]] tutti_reduce_op number() const { return number_; }
    // Nothing if it is no such op.
    [[nodiscard]] const Factor* factor() const;
    [[nodiscard]] const UserFunction* user_function() const;
    // A number of an op that was made here once.
    [[nodiscard]] bool is_released() const;

    // Whether op(a, b) is op(b, a). If not, an algorithm combines neighbouring ranks only, the
    // lower rank's part as the first operand.
    [[nodiscard]] bool is_commutative() const;
    // In a group that is reproducible: sums are exact and rounded once, and what else depends on
    // the order is done in the order of the ranks (must_combine_at_once() in reduce.hpp).
    void make_reproducible() { is_reproducible_ = true; }
    [[nodiscard]] bool is_reproducible() const { return is_reproducible_; }

    // What the ranks of a call compare: the number of a built-in op; for any PREMUL_SUM 8, for each
    // rank has its factor; for a user's function a mark of its name.
    [[nodiscard]] uint32_t fingerprint() const;

private:
    tutti_reduce_op number_;
    bool is_reproducible_ = false;
    std::shared_ptr<const Made> made_;
};

// "SUM"; "\"quaternion product\"" if such an op is alive in this process, or at work; "unknown".
std::string describe_op(uint32_t fingerprint);

}  // namespace tutti
