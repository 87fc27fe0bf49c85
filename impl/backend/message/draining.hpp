// Takes data nobody can use out of the channel, by receiving nothing.
#pragma once

#include "backend/channel.hpp"

namespace tutti {

class Draining : public TransferListener {
public:
    Transfer transfer;
    void transfer_done(Transfer& /*transfer*/) noexcept override {
        const auto self = std::move(transfer.listener);
    }
};

}  // namespace tutti
