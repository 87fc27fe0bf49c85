// Ranks that are processes, on one host or many: messages over TCP, moved by Gloo's unbound
// buffers. Any thread.
#pragma once

#include <memory>

#include "backend/channel.hpp"
#include "base/deadline.hpp"
#include "store/store.hpp"

namespace tutti::gloo_channel {

// Meets the other ranks at the store and connects to each.
std::unique_ptr<Channel> connect(const std::shared_ptr<Store>& store, int rank, int size,
                                 const Deadline& deadline);

}  // namespace tutti::gloo_channel
