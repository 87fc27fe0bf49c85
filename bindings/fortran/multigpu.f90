!> Collectives of ranks that have several GPUs each: lists have a buffer on each. Deprecated: torch
!> has taken them out. A process can be a rank for each of its GPUs instead (tutti_group_create).
!> All ranks have as many GPUs, and use the same ones in each call on a group, whose first such call
!> waits for all ranks.
module tutti_multigpu
  use, intrinsic :: iso_c_binding
  use tutti_constants, only: tutti_buffer, TUTTI_OK
  use tutti_base
  use tutti_functions
  use tutti_calls
  use tutti_groups, only: tutti_group
  use tutti_reduce_ops, only: tutti_reduce_op, op_number
  use tutti_works, only: tutti_work
  implicit none
  private
  public :: tutti_broadcast_multigpu, tutti_all_reduce_multigpu, tutti_reduce_multigpu
  public :: tutti_all_gather_multigpu, tutti_reduce_scatter_multigpu
contains
  !> Copies one buffer of the rank `group_src`, that with the index `src_tensor` (from 0 on), to all
  !> buffers of all ranks.
  wrap tutti_broadcast_multigpu(buffers, group_src, src_tensor)

  !> Reduces all buffers of all ranks, element by element; every buffer receives the result. `op`
  !> absent: TUTTI_SUM.
  wrap tutti_all_reduce_multigpu(buffers, [op])

  !> Reduces all buffers of all ranks; one buffer of the rank `group_dst`, that with the index
  !> `dst_tensor` (from 0 on), receives the result.
  wrap tutti_reduce_multigpu(buffers, group_dst, dst_tensor, [op])

  !> Gathers the inputs of all ranks on each GPU. `outputs`: first those on the GPU of inputs(1), one
  !> for each input of rank 0, then of rank 1, ...; then as many on the GPU of inputs(2), ...
  wrap tutti_all_gather_multigpu(outputs, inputs)

  !> Reduces lists of buffers; each of `outputs` receives one part. `inputs`: first those on the GPU
  !> of outputs(1), one for each output of rank 0, then of rank 1, ...; then as many on the GPU of
  !> outputs(2), ...
  wrap tutti_reduce_scatter_multigpu(outputs, inputs, [op])
end module tutti_multigpu
