// How Go passes what C passes: one Go parameter for each of C, no copy, no allocation. Handles are
// numbers of a type of their own; structs have C's layout in Go (generator/go.py writes both);
// pointers to them and to numbers are Go pointers, which the cgo checks see. Memory that C keeps
// goes by its address in a struct, pinned by the layer above.
%insert(cgo_comment_typedefs) %{
#cgo pkg-config: tutti
#include <tutti/tutti.h>
%}

%include <stdint.i>
typedef unsigned long size_t;

// Constants are written by generator/go.py, where Go sees them as constants.
%rename("$ignore", %$isenumitem) "";
%rename("$ignore", %$isenum) "";
%ignore TUTTI_DEFAULT_TIMEOUT;
%ignore TUTTI_NO_TIMEOUT;
%ignore TUTTI_NUL_TERMINATED;
%ignore TUTTI_OBJECT_BORROW;
%ignore TUTTI_GROUP_WORLD;
%ignore TUTTI_GROUP_NON_MEMBER;
// For C's compilers alone.
%ignore TUTTI_VERSION;
%ignore TUTTI_VERSION_MAJOR;
%ignore TUTTI_VERSION_MINOR;
%ignore TUTTI_VERSION_PATCH;

%define GO_SCALAR(C, GO)
%typemap(gotype) C "GO"
%enddef
GO_SCALAR(int32_t, int32)
GO_SCALAR(uint32_t, uint32)
GO_SCALAR(size_t, uint64)
GO_SCALAR(tutti_status, int32)
GO_SCALAR(tutti_dtype, uint32)
GO_SCALAR(tutti_reduce_op, uint32)
GO_SCALAR(tutti_device_type, int32)
GO_SCALAR(tutti_debug_level, uint32)
GO_SCALAR(tutti_log_level, uint32)
GO_SCALAR(tutti_compression, uint32)

%define GO_POINTER(C, GO)
%typemap(gotype) C "GO"
%typemap(imtype) C "unsafe.Pointer"
%typemap(goin) C "$result = unsafe.Pointer($input)"
%typemap(in) C "$1 = ($1_ltype)$input;"
%typemap(out) C "$result = (void*)$1;"
%typemap(goout) C "$result = $1"
%enddef
GO_POINTER(void*, unsafe.Pointer)
GO_POINTER(const void*, unsafe.Pointer)
GO_POINTER(int32_t*, *int32)
GO_POINTER(int64_t*, *int64)
GO_POINTER(uint64_t*, *uint64)
GO_POINTER(size_t*, *uint64)
GO_POINTER(double*, *float64)
GO_POINTER(tutti_dtype*, *uint32)
GO_POINTER(tutti_reduce_op*, *uint32)
// Text is bytes that end with a NUL, nil for NULL.
GO_POINTER(const char*, *byte)
%typemap(goout) const char* "$result = (*byte)($1)"
%typemap(freearg) const char* ""
// Lists of addresses, and places for them.
GO_POINTER(const char* const*, *uintptr)
GO_POINTER(const void* const*, *uintptr)
GO_POINTER(const char**, *uintptr)
GO_POINTER(const void**, *uintptr)
GO_POINTER(void**, *uintptr)
GO_POINTER(const int64_t**, *uintptr)
// C hands this to a callback as it is: the number of a cgo.Handle.
%typemap(gotype) void* user "uintptr"
%typemap(imtype) void* user "uintptr"
%typemap(goin) void* user "$result = $input"
%typemap(in) void* user "$1 = (void*)$input;"
// Streams are numbers, too: some are small ones, which are no pointers to Go.
%typemap(gotype) void* stream "uintptr"
%typemap(imtype) void* stream "uintptr"
%typemap(goin) void* stream "$result = $input"
%typemap(in) void* stream "$1 = (void*)$input;"
// Callbacks are functions of C; callbacks.go has one for each.
GO_POINTER(tutti_release_function, unsafe.Pointer)
GO_POINTER(tutti_work_callback, unsafe.Pointer)
GO_POINTER(tutti_log_callback, unsafe.Pointer)
GO_POINTER(tutti_reduce_function, unsafe.Pointer)
GO_POINTER(tutti_allgather_callback, unsafe.Pointer)
GO_POINTER(tutti_spawn_function, unsafe.Pointer)
GO_POINTER(tutti_bucket_hook, unsafe.Pointer)

%define GO_STRUCT(NAME, GO)
%ignore NAME;
GO_POINTER(NAME*, *GO)
GO_POINTER(const NAME*, *GO)
%enddef
GO_STRUCT(tutti_bucket, Tutti_bucket)
GO_STRUCT(tutti_buffer, Tutti_buffer)
GO_STRUCT(tutti_error, Tutti_error)
GO_STRUCT(tutti_object_item, Tutti_object_item)
%ignore tutti_operation;
GO_STRUCT(tutti_p2p_op, Tutti_p2p_op)
GO_STRUCT(tutti_call_options, Tutti_call_options)
GO_STRUCT(tutti_coalescing_options, Tutti_coalescing_options)
GO_STRUCT(tutti_destroy_options, Tutti_destroy_options)
GO_STRUCT(tutti_group_options, Tutti_group_options)
GO_STRUCT(tutti_hooks, Tutti_hooks)
GO_STRUCT(tutti_memory_options, Tutti_memory_options)
GO_STRUCT(tutti_new_group_options, Tutti_new_group_options)
GO_STRUCT(tutti_object_options, Tutti_object_options)
GO_STRUCT(tutti_power_sgd_options, Tutti_power_sgd_options)
GO_STRUCT(tutti_reduce_op_options, Tutti_reduce_op_options)
GO_STRUCT(tutti_reducer_options, Tutti_reducer_options)
GO_STRUCT(tutti_shrink_options, Tutti_shrink_options)
GO_STRUCT(tutti_spawn_options, Tutti_spawn_options)
GO_STRUCT(tutti_store_call_options, Tutti_store_call_options)
GO_STRUCT(tutti_store_options, Tutti_store_options)
GO_STRUCT(tutti_tcp_store_options, Tutti_tcp_store_options)

%define GO_HANDLE(NAME, GO)
%typemap(gotype) NAME* "GO"
%typemap(imtype) NAME* "uintptr"
%typemap(goin) NAME* "$result = uintptr($input)"
%typemap(in) NAME* "$1 = (NAME*)$input;"
GO_POINTER(NAME**, *GO)
GO_POINTER(NAME* const*, *GO)
%enddef
GO_HANDLE(tutti_store, Tutti_store)
GO_HANDLE(tutti_group, Tutti_group)
GO_HANDLE(tutti_work, Tutti_work)
GO_HANDLE(tutti_bytes, Tutti_bytes)
GO_HANDLE(tutti_object, Tutti_object)
GO_HANDLE(tutti_mesh, Tutti_mesh)
GO_HANDLE(tutti_reducer, Tutti_reducer)
