// The sizes that each struct had with which programs speak to the C functions; those of backends
// and stores from outside are in impl/ext. The tests read these lines. Any thread.
#pragma once

#include "base/struct_sizes.hpp"
#include "tutti/tutti.h"

namespace tutti {

template <>
inline constexpr StructSizes sizes_of<tutti_call_options>{"tutti_call_options", {16, 40, 48}};
template <>
inline constexpr StructSizes sizes_of<tutti_coalescing_options>{"tutti_coalescing_options", {16}};
template <>
inline constexpr StructSizes sizes_of<tutti_group_options>{"tutti_group_options", {16, 24}};
template <>
inline constexpr StructSizes sizes_of<tutti_new_group_options>{"tutti_new_group_options",
                                                               {16, 24, 32}};
template <>
inline constexpr StructSizes sizes_of<tutti_destroy_options>{"tutti_destroy_options", {16}};
template <>
inline constexpr StructSizes sizes_of<tutti_hooks>{"tutti_hooks", {48}};
template <>
inline constexpr StructSizes sizes_of<tutti_memory_options>{"tutti_memory_options", {24}};
template <>
inline constexpr StructSizes sizes_of<tutti_object_options>{"tutti_object_options", {56}};
template <>
inline constexpr StructSizes sizes_of<tutti_reduce_op_options>{"tutti_reduce_op_options", {8}};
template <>
inline constexpr StructSizes sizes_of<tutti_reducer_options>{"tutti_reducer_options", {64, 72}};
template <>
inline constexpr StructSizes sizes_of<tutti_power_sgd_options>{"tutti_power_sgd_options", {56}};
template <>
inline constexpr StructSizes sizes_of<tutti_bucket>{"tutti_bucket", {112, 120}};
template <>
inline constexpr StructSizes sizes_of<tutti_shrink_options>{"tutti_shrink_options", {16}};
template <>
inline constexpr StructSizes sizes_of<tutti_spawn_options>{"tutti_spawn_options", {24}};
template <>
inline constexpr StructSizes sizes_of<tutti_store_options>{"tutti_store_options", {16}};
template <>
inline constexpr StructSizes sizes_of<tutti_store_call_options>{"tutti_store_call_options", {16}};
template <>
inline constexpr StructSizes sizes_of<tutti_tcp_store_options>{"tutti_tcp_store_options", {16, 64}};

}  // namespace tutti
