// The line of a TCP connection to another host. What lies between forgets a connection on which
// nothing travels, and then swallows all that is sent on it; or the host is gone. Any thread.
//
// TCP_USER_TIMEOUT would not do: with it the kernel also ends a connection whose other end answers
// every probe, but takes no more because its process is stopped or busy. Here only silence counts:
// of the other host's system, which answers whatever the process does.
#pragma once

#include <cstdint>

namespace tutti::net {

// The host at the other end may be silent for so long, from TUTTI_CONNECTION_TIMEOUT_MS. Throws
// INVALID_ARGUMENT if that is malformed, else never again in this process.
int64_t line_timeout_ms();
// How often who waits for a connection should ask is_dead().
int64_t line_look_ms();

// For a connected socket. Where nothing else travels, probes do, and keep the line in everybody's
// memory; without an answer to them for the timeout, the connection ends with ETIMEDOUT. Does
// nothing for a connection within this host. Throws as line_timeout_ms().
void keep_alive(int fd);

// Whether what was sent on it has had no answer for the timeout, though it was sent several times:
// in that state the kernel does not probe, and would itself go on for a quarter of an hour.
[[nodiscard]] bool is_dead(int fd) noexcept;

}  // namespace tutti::net
