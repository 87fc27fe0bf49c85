// A reduce op as calls carry it: a number of types.h, or one that a caller has made and that stands
// in the table of this process. A ReduceOp keeps what it names alive, also after its release. Any
// thread; the table has a mutex, which built-in ops never touch.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>

#include "base/status.hpp"
#include "factor.hpp"
#include "tutti/types.h"

namespace tutti {

// inout[i] = in[i] op inout[i], where `in` comes from the lower ranks; a failure's message may be
// empty.
using ReduceFunction =
    std::function<Status(const void* in, void* inout, int64_t count, tutti_dtype dtype)>;

struct UserFunction {
    std::string name;  // the same on all ranks
    ReduceFunction function = nullptr;
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
    ReduceOp(tutti_reduce_op number) : number_(number) {
        if (number >= first_made) made_ = find(number);
    }
    bool operator==(tutti_reduce_op number) const { return number_ == number; }

    // Makes an op and returns its number, which release() ends once; others are ignored.
    // OUT_OF_MEMORY if too many are alive.
    static tutti_reduce_op make(Made made);
    static void release(tutti_reduce_op number) noexcept;

    [[nodiscard]] tutti_reduce_op number() const { return number_; }
    // Nothing if it is no such op.
    [[nodiscard]] const Factor* factor() const { return std::get_if<Factor>(made_.get()); }
    [[nodiscard]] const UserFunction* user_function() const {
        return std::get_if<UserFunction>(made_.get());
    }
    // A number of an op that was made here once.
    [[nodiscard]] bool is_released() const;

    // Whether op(a, b) is op(b, a). If not, an algorithm combines neighbouring ranks only, the
    // lower rank's part as the first operand.
    [[nodiscard]] bool is_commutative() const;
    // In a group that is reproducible: sums are exact and rounded once, and what else depends on
    // the order is done in the order of the ranks (must_combine_at_once() in reduce.hpp).
    void make_reproducible() { is_reproducible_ = true; }
    [[nodiscard]] bool is_reproducible() const { return is_reproducible_; }

    // The number by which the ranks of a call compare their ops: that of a built-in op; for any
    // PREMUL_SUM 8, for each rank has its factor; for a user's function a mark of its name.
    [[nodiscard]] uint32_t fingerprint() const;

    // Numbers of ops that callers made start here: 0, 1, generation (15 bits), place (15 bits), so
    // they are never negative where numbers have a sign.
    static constexpr tutti_reduce_op first_made = tutti_reduce_op{1} << 30;

private:
    static std::shared_ptr<const Made> find(tutti_reduce_op number);

    tutti_reduce_op number_;
    bool is_reproducible_ = false;
    std::shared_ptr<const Made> made_;
};

// "SUM"; "\"quaternion product\"" if such an op is alive in this process, or at work; "unknown".
std::string describe_op(uint32_t fingerprint);

}  // namespace tutti
