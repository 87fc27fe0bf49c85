#include "long_call.hpp"

#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace tutti::nccl {

std::shared_ptr<LongCall> LongCall::begin(const Library& nccl, int device, Make make,
                                          const Config& how) {
    auto call = std::make_shared<LongCall>();
    auto run = [&nccl, call, make = std::move(make), device, config = how]() mutable {
        try {
            const cuda::InContext context(nccl.driver(), device);
            call->result_ = make(&call->made_, &config);
            const bool is_given_up = call->state_.exchange(Returned) == GivenUp;
            if (is_given_up && call->made_ != nullptr) nccl.comm_abort(call->made_);
        } catch (const Failure&) {
            call->result_ = Result::UnhandledCudaError;
            call->state_ = Returned;
        }
    };
    if (how.blocking != 1) {
        run();
        return call;
    }
    try {
        std::thread(std::move(run)).detach();
    } catch (const std::system_error& error) {
        throw Failure{TUTTI_ERR_OUT_OF_MEMORY, error.code().value(),
                      std::string("cannot start a thread: ") + error.what()};
    }
    return call;
}

}  // namespace tutti::nccl
