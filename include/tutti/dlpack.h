/* tutti/dlpack.h: tensors of other libraries as buffers, without a copy. DLPack is the format in
 * which PyTorch, JAX, CuPy, NumPy, TVM and others exchange tensors. Its header is not needed. */
#ifndef TUTTI_DLPACK_H
#define TUTTI_DLPACK_H

#include <tutti/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Describes the memory of a DLPack tensor as a buffer. Nothing is copied, and only the description
 *  is read, never the memory. All dimensions become one count, in row-major order. The tensor stays
 *  the caller's: its deleter is not called. The buffer borrows the memory as every buffer does, so
 *  the caller calls the deleter after the last operation that uses the buffer. If the tensor's
 *  library still writes the memory on a device, the caller orders the operation behind that. Every
 *  dtype of tutti can be imported, with one lane: kDLInt and kDLUInt of 8, 16, 32 and 64 bits,
 *  kDLFloat of 16, 32 and 64, kDLBfloat of 16, kDLComplex of 64 and 128, kDLBool of 8. Memory of
 *  kDLCPU and kDLCUDAHost becomes memory of TUTTI_CPU; that of kDLCUDA and kDLCUDAManaged becomes
 *  memory of TUTTI_CUDA, with the tensor's device number.
 *  @param managed_tensor  a `DLManagedTensor*`, as in a Python capsule named "dltensor", or
 *                         a `DLTensor*`
 *  @param out_buffer      receives the buffer
 *  @param error           NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT (names the field: a shape that cannot be, no memory, or strides of a
 *           tensor that is not contiguous and row-major); UNSUPPORTED (a dtype or a device that
 *           tutti does not have, by DLPack's name for it)
 *  Source:  torch.from_dlpack
 *  @since 0.1 */
TUTTI_API tutti_status tutti_buffer_from_dlpack(const void* managed_tensor,
                                                tutti_buffer* out_buffer, tutti_error* error);

/** Describes the memory of a versioned DLPack tensor as a buffer, as tutti_buffer_from_dlpack does.
 *  @param managed_tensor  a `DLManagedTensorVersioned*` of DLPack 1, as in a Python capsule named
 *                         "dltensor_versioned"
 *  @param out_buffer      receives the buffer
 *  @param out_read_only   receives 1 if the memory may not be written, so that the buffer may only
 *                         be an input, else 0; NULL: a tensor that is read-only is refused
 *  @param error           NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   as tutti_buffer_from_dlpack; INVALID_ARGUMENT (the tensor is read-only and
 *           out_read_only is NULL); UNSUPPORTED (another major version than 1)
 *  Source:  torch.from_dlpack
 *  @since 0.1 */
TUTTI_API tutti_status tutti_buffer_from_dlpack_versioned(const void* managed_tensor,
                                                          tutti_buffer* out_buffer,
                                                          int32_t* out_read_only,
                                                          tutti_error* error);

#ifdef __cplusplus
}
#endif

#endif
