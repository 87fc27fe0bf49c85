// Where the fields of the public structs are, as the C compiler has it: RawConstants.STRUCT_FIELD
// is an offset in bytes, RawConstants.sizeof_STRUCT a size. A field that goes or is renamed does
// not compile; one that comes is found by the test of the raw layer.
%{
#include <stddef.h>
%}

%define LAYOUT(STRUCT)
%constant int sizeof_##STRUCT = (int)sizeof(STRUCT);
%enddef
%define FIELD(STRUCT, NAME)
%constant int STRUCT##_##NAME = (int)offsetof(STRUCT, NAME);
%enddef

LAYOUT(tutti_error)
FIELD(tutti_error, struct_size)
FIELD(tutti_error, status)
FIELD(tutti_error, rank)
FIELD(tutti_error, system_errno)
FIELD(tutti_error, message)

LAYOUT(tutti_buffer)
FIELD(tutti_buffer, data)
FIELD(tutti_buffer, count)
FIELD(tutti_buffer, dtype)
FIELD(tutti_buffer, device_type)
FIELD(tutti_buffer, device_index)
FIELD(tutti_buffer, reserved_0)
FIELD(tutti_buffer, reserved)

LAYOUT(tutti_call_options)
FIELD(tutti_call_options, struct_size)
FIELD(tutti_call_options, reserved)
FIELD(tutti_call_options, timeout_ms)
FIELD(tutti_call_options, stream)
FIELD(tutti_call_options, on_done)
FIELD(tutti_call_options, on_done_user)

LAYOUT(tutti_coalescing_options)
FIELD(tutti_coalescing_options, struct_size)
FIELD(tutti_coalescing_options, device_type)
FIELD(tutti_coalescing_options, device_index)
FIELD(tutti_coalescing_options, reserved)

LAYOUT(tutti_destroy_options)
FIELD(tutti_destroy_options, struct_size)
FIELD(tutti_destroy_options, reserved)
FIELD(tutti_destroy_options, timeout_ms)

LAYOUT(tutti_memory_options)
FIELD(tutti_memory_options, struct_size)
FIELD(tutti_memory_options, device_type)
FIELD(tutti_memory_options, device_index)
FIELD(tutti_memory_options, reserved)
FIELD(tutti_memory_options, timeout_ms)

LAYOUT(tutti_store_options)
FIELD(tutti_store_options, struct_size)
FIELD(tutti_store_options, reserved)
FIELD(tutti_store_options, timeout_ms)

LAYOUT(tutti_store_call_options)
FIELD(tutti_store_call_options, struct_size)
FIELD(tutti_store_call_options, reserved)
FIELD(tutti_store_call_options, timeout_ms)

LAYOUT(tutti_group_options)
FIELD(tutti_group_options, struct_size)
FIELD(tutti_group_options, reproducible)
FIELD(tutti_group_options, timeout_ms)
FIELD(tutti_group_options, device_type)
FIELD(tutti_group_options, device_index)

LAYOUT(tutti_new_group_options)
FIELD(tutti_new_group_options, struct_size)
FIELD(tutti_new_group_options, use_local_synchronization)
FIELD(tutti_new_group_options, timeout_ms)
FIELD(tutti_new_group_options, reproducible)
FIELD(tutti_new_group_options, device_type)
FIELD(tutti_new_group_options, device_index)
FIELD(tutti_new_group_options, reserved)

LAYOUT(tutti_tcp_store_options)
FIELD(tutti_tcp_store_options, struct_size)
FIELD(tutti_tcp_store_options, no_wait_for_workers)
FIELD(tutti_tcp_store_options, timeout_ms)
FIELD(tutti_tcp_store_options, multi_tenant)
FIELD(tutti_tcp_store_options, has_master_listen_fd)
FIELD(tutti_tcp_store_options, master_listen_fd)
FIELD(tutti_tcp_store_options, max_connections)
FIELD(tutti_tcp_store_options, max_key_bytes)
FIELD(tutti_tcp_store_options, max_value_bytes)
FIELD(tutti_tcp_store_options, max_keys_per_request)
FIELD(tutti_tcp_store_options, max_memory_bytes)

LAYOUT(tutti_reduce_op_options)
FIELD(tutti_reduce_op_options, struct_size)
FIELD(tutti_reduce_op_options, non_commutative)

LAYOUT(tutti_p2p_op)
FIELD(tutti_p2p_op, kind)
FIELD(tutti_p2p_op, group_peer)
FIELD(tutti_p2p_op, tag)
FIELD(tutti_p2p_op, reserved_0)
FIELD(tutti_p2p_op, buffer)
FIELD(tutti_p2p_op, reserved)

LAYOUT(tutti_object_item)
FIELD(tutti_object_item, kind)
FIELD(tutti_object_item, dtype)
FIELD(tutti_object_item, integer)
FIELD(tutti_object_item, real)
FIELD(tutti_object_item, data)
FIELD(tutti_object_item, size)
FIELD(tutti_object_item, shape)
FIELD(tutti_object_item, dimensions)
FIELD(tutti_object_item, nanoseconds)
FIELD(tutti_object_item, end)

LAYOUT(tutti_object_options)
FIELD(tutti_object_options, struct_size)
FIELD(tutti_object_options, flags)
FIELD(tutti_object_options, max_bytes)
FIELD(tutti_object_options, max_decompressed_bytes)
FIELD(tutti_object_options, max_values)
FIELD(tutti_object_options, max_depth)
FIELD(tutti_object_options, compression_level)
FIELD(tutti_object_options, compression_threshold)
FIELD(tutti_object_options, compress)
FIELD(tutti_object_options, reserved)

LAYOUT(tutti_power_sgd_options)
FIELD(tutti_power_sgd_options, struct_size)
FIELD(tutti_power_sgd_options, no_error_feedback)
FIELD(tutti_power_sgd_options, no_warm_start)
FIELD(tutti_power_sgd_options, reserved)
FIELD(tutti_power_sgd_options, matrix_approximation_rank)
FIELD(tutti_power_sgd_options, start_iteration)
FIELD(tutti_power_sgd_options, min_compression_rate)
FIELD(tutti_power_sgd_options, orthogonalization_epsilon)
FIELD(tutti_power_sgd_options, random_seed)

LAYOUT(tutti_reducer_options)
FIELD(tutti_reducer_options, struct_size)
FIELD(tutti_reducer_options, find_unused_parameters)
FIELD(tutti_reducer_options, static_graph)
FIELD(tutti_reducer_options, keep_buckets)
FIELD(tutti_reducer_options, no_initial_broadcast)
FIELD(tutti_reducer_options, sum)
FIELD(tutti_reducer_options, keep_micro_batches)
FIELD(tutti_reducer_options, reserved)
FIELD(tutti_reducer_options, bucket_cap_bytes)
FIELD(tutti_reducer_options, first_bucket_cap_bytes)
FIELD(tutti_reducer_options, timeout_ms)
FIELD(tutti_reducer_options, predivide)
FIELD(tutti_reducer_options, stream)

LAYOUT(tutti_bucket)
FIELD(tutti_bucket, struct_size)
FIELD(tutti_bucket, index)
FIELD(tutti_bucket, bucket_count)
FIELD(tutti_bucket, is_last)
FIELD(tutti_bucket, gradients)
FIELD(tutti_bucket, parameters)
FIELD(tutti_bucket, offsets)
FIELD(tutti_bucket, counts)
FIELD(tutti_bucket, parameter_count)
FIELD(tutti_bucket, stream)

LAYOUT(tutti_shrink_options)
FIELD(tutti_shrink_options, struct_size)
FIELD(tutti_shrink_options, min_size)
FIELD(tutti_shrink_options, timeout_ms)

LAYOUT(tutti_spawn_options)
FIELD(tutti_spawn_options, struct_size)
FIELD(tutti_spawn_options, keep_environment)
FIELD(tutti_spawn_options, timeout_ms)
FIELD(tutti_spawn_options, grace_period_ms)

// Macros whose casts SWIG does not read.
%constant long GROUP_WORLD = (long)(intptr_t)TUTTI_GROUP_WORLD;
%constant long GROUP_NON_MEMBER = (long)(intptr_t)TUTTI_GROUP_NON_MEMBER;
%constant long NO_TIMEOUT = TUTTI_NO_TIMEOUT;
%constant long DEFAULT_TIMEOUT = TUTTI_DEFAULT_TIMEOUT;
%constant long NUL_TERMINATED = (long)TUTTI_NUL_TERMINATED;
%constant int OBJECT_BORROW = (int)TUTTI_OBJECT_BORROW;
