#include "hooks.hpp"

#include <memory>
#include <string>
#include <string_view>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "base/mutex.hpp"
#include "nan_check.hpp"
#include "record/observers.hpp"
#include "signatures.hpp"

namespace tutti::hooks {

namespace {

constexpr Variable variable = "TUTTI_HOOKS";
constexpr Variable torch_variable = "TORCH_NCCL_NAN_CHECK";

struct Chosen {
    bool checks_nan = false;
    bool logs_signatures = false;
};

Chosen chosen_by_environment() {
    Chosen chosen;
    chosen.checks_nan = environment_number(torch_variable, 0, 1).value_or(0) == 1;
    const std::string list = environment(variable).value_or("");
    std::string_view rest = list;
    while (!rest.empty()) {
        const std::string_view name = rest.substr(0, rest.find(','));
        rest.remove_prefix(std::min(rest.size(), name.size() + 1));
        if (name == "nan_check") {
            chosen.checks_nan = true;
        } else if (name == "signatures") {
            chosen.logs_signatures = true;
        } else {
            throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                        cat("environment variable ", variable.name(), " is \"", list,
                            "\", not a list of \"nan_check\" and \"signatures\" with commas"));
        }
    }
    return chosen;
}

struct Once {
    Mutex mutex;
    bool is_done TUTTI_GUARDED_BY(mutex) = false;
};

}  // namespace

void add_by_environment() {
    static auto& once = *new Once;
    const Lock lock(once.mutex);
    if (once.is_done) return;
    const Chosen chosen = chosen_by_environment();
    // A call that fails a check is not in the log of those that moved something.
    if (chosen.checks_nan) record::add_observer(std::make_shared<NanCheck>());
    if (chosen.logs_signatures) record::add_observer(std::make_shared<Signatures>());
    once.is_done = true;
}

}  // namespace tutti::hooks
