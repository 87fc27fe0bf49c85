!> Collectives of one array on every rank, barriers, and several calls as one. All ranks
!> of a group call them in the same order. Arrays are of any numeric, logical or character kind and
!> any rank. Without a `work` a call returns when the result is there; with one it returns at once,
!> and the arrays, which must be contiguous then, are in use until the work is done.
module tutti_collectives
  use, intrinsic :: iso_c_binding
  use tutti_constants, only: tutti_error, tutti_buffer, tutti_coalescing_options, TUTTI_OK
  use tutti_base
  use tutti_functions
  use tutti_calls
  use tutti_groups, only: tutti_group, group_handle
  use tutti_reduce_ops, only: tutti_reduce_op, op_number
  use tutti_works, only: tutti_work
  implicit none
  private
  public :: tutti_broadcast, tutti_all_reduce, tutti_all_reduce_addends, tutti_reduce
  public :: tutti_barrier, tutti_monitored_barrier, tutti_breakpoint
  public :: tutti_coalescing_begin, tutti_coalescing_end
contains
  !> Copies the array of the rank `group_src` to all ranks.
  wrap tutti_broadcast(inout buffer, group_src)

  !> Reduces all ranks' inputs, element by element; every rank receives the same result in
  !> `output`. `input` absent: taken from `output`. `op` absent: TUTTI_SUM.
  wrap tutti_all_reduce(inout output, [op], [input])

  !> Adds all buffers that the ranks contribute, each rank as many as it has: the exact sum, rounded
  !> once, however they are spread. Only for a group made with `reproducible`. `op`: TUTTI_SUM or
  !> TUTTI_AVG.
  wrap tutti_all_reduce_addends(inout output, inputs, [op])

  !> Reduces all ranks' inputs; `group_dst` alone receives the result. `input` absent: taken from
  !> `output`, which other ranks that give `input` may leave out.
  subroutine tutti_reduce(output, group_dst, op, input, group, dtype, timeout_ms, options, work, &
                          ierr, errmsg)
    type(*), dimension(..), optional, target, asynchronous, intent(inout) :: output
    integer, intent(in) :: group_dst
    type(tutti_reduce_op), optional, intent(in) :: op
    type(*), dimension(..), optional, target, asynchronous, intent(in) :: input
    integer, optional, intent(in) :: dtype
    include "call.inc"
    type(argument), target :: out, in

    call begin_call(this, group, timeout_ms, options, work)
    call borrow(this, out, "output", output, dtype)
    call borrow(this, in, "input", input, dtype)
    if (this%status == TUTTI_OK) &
      this%status = c_tutti_reduce(this%group, in%buffer, out%buffer, op_number(op), &
                                   int(group_dst, c_int32_t), this%options, this%work, this%error)
    call return_array(this, out, output, c_tutti_get_rank(this%group) == group_dst)
    call return_array(this, in, input, .false.)
    call end_call(this, work, ierr, errmsg)
  end subroutine

  !> Returns when every rank of the group has called it.
  subroutine tutti_barrier(group, timeout_ms, options, work, ierr, errmsg)
    include "call.inc"

    call begin_call(this, group, timeout_ms, options, work)
    this%status = c_tutti_barrier(this%group, this%options, this%work, this%error)
    call end_call(this, work, ierr, errmsg)
  end subroutine

  !> A barrier that says who is missing: rank 0 fails with TUTTI_ERR_TIMEOUT and names the first, or
  !> with `wait_all_ranks` all of them.
  subroutine tutti_monitored_barrier(group, timeout_ms, wait_all_ranks, ierr, errmsg)
    type(tutti_group), optional, intent(in) :: group
    integer, optional, intent(in) :: timeout_ms
    logical, optional, intent(in) :: wait_all_ranks
    integer, optional, intent(out) :: ierr
    character(*), optional, intent(inout) :: errmsg
    type(call_state), target :: this

    call begin_call(this, group, timeout_ms)
    this%status = c_tutti_monitored_barrier(this%group, number(wait_all_ranks), this%options, &
                                            this%error)
    call end_call(this, ierr=ierr, errmsg=errmsg)
  end subroutine

  !> Stops that rank of the group, the same on all of them, in a debugger, while the others wait for
  !> it. The rank prints how to attach one.
  subroutine tutti_breakpoint(rank, group, timeout_ms, ierr, errmsg)
    integer, intent(in) :: rank
    type(tutti_group), optional, intent(in) :: group
    integer, optional, intent(in) :: timeout_ms
    integer, optional, intent(out) :: ierr
    character(*), optional, intent(inout) :: errmsg
    type(call_state), target :: this

    call begin_call(this, group, timeout_ms)
    this%status = c_tutti_breakpoint(this%group, int(rank, c_int32_t), this%options, this%error)
    call end_call(this, ierr=ierr, errmsg=errmsg)
  end subroutine

  !> Begins a coalescing: collectives that are given it as their `group` are done together, as one
  !> operation, at its end. None may have a `work`; their arrays must be contiguous and stay until
  !> the end is done. The group itself, absent: the world, works as ever. End or release it.
  subroutine tutti_coalescing_begin(coalescing, group, options, ierr, errmsg)
    type(tutti_group), intent(out) :: coalescing
    type(tutti_group), optional, intent(in) :: group
    type(tutti_coalescing_options), optional, intent(in) :: options
    include "error.inc"

    status = c_tutti_coalescing_begin(group_handle(group), options, coalescing%handle, error)
    coalescing%coalesces = .true.
    call finish(status, error, ierr, errmsg)
  end subroutine

  !> Does the collectives that were given to a coalescing, as one operation, and releases it.
  subroutine tutti_coalescing_end(coalescing, timeout_ms, options, work, ierr, errmsg)
    type(tutti_group), intent(inout) :: coalescing
    integer, optional, intent(in) :: timeout_ms
    type(tutti_call_options), optional, intent(in) :: options
    type(tutti_work), optional, intent(out) :: work
    integer, optional, intent(out) :: ierr
    character(*), optional, intent(inout) :: errmsg
    type(call_state), target :: this

    call begin_call(this, coalescing, timeout_ms, options, work)
    this%status = c_tutti_coalescing_end(this%group, this%options, this%work, this%error)
    if (this%status == TUTTI_OK) coalescing = tutti_group()
    call end_call(this, work, ierr, errmsg)
  end subroutine
end module tutti_collectives
