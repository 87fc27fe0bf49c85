!> Messages between two ranks of a group. Those that one rank sends to another with one tag arrive
!> in their order. A send waits for its receiver: ranks that all send first and receive then need a
!> `work`, which makes torch's isend and irecv of them.
module tutti_messages
  use, intrinsic :: iso_c_binding
  use tutti_constants
  use tutti_arrays, only: tutti_buffer_of
  use tutti_base
  use tutti_functions
  use tutti_calls
  use tutti_groups, only: tutti_group
  use tutti_works, only: tutti_work
  implicit none
  private
  public :: tutti_send, tutti_recv, tutti_batch_isend_irecv, tutti_isend_op, tutti_irecv_op
  public :: tutti_p2p_op, TUTTI_ANY_RANK, tag_of

  !> For the sender of a receive: any rank but this one.
  integer, parameter :: TUTTI_ANY_RANK = -1
contains
  !> Sends an array to one rank, which receives it with tutti_recv and the same tag; absent: 0.
  wrap tutti_send(buffer, group_dst, [tag])

  !> Receives a message that one rank, or with TUTTI_ANY_RANK any, sent with the same tag, count and
  !> dtype. `out_group_src` receives the sender's rank; with a `work`, its source_rank tells it.
  subroutine tutti_recv(buffer, group_src, tag, group, out_group_src, dtype, timeout_ms, options, &
                        work, ierr, errmsg)
    type(*), dimension(..), target, asynchronous, intent(inout) :: buffer
    integer, intent(in) :: group_src
    integer, optional, intent(in) :: tag
    integer, optional, intent(out) :: out_group_src
    integer, optional, intent(in) :: dtype
    include "call.inc"
    type(argument), target :: data

    call begin_call(this, group, timeout_ms, options, work)
    if (present(out_group_src)) out_group_src = -1
    call borrow(this, data, "buffer", buffer, dtype)
    if (this%status == TUTTI_OK) &
      this%status = c_tutti_recv(this%group, data%buffer, int(group_src, c_int32_t), tag_of(tag), &
                                 this%options, out_group_src, this%work, this%error)
    call return_array(this, data, buffer, .true.)
    call end_call(this, work, ierr, errmsg)
  end subroutine

  !> One message of a batch: an array, contiguous, that goes to a rank. It must stay, and be a
  !> target, until the message's work is done.
  function tutti_isend_op(buffer, group_dst, tag, dtype, ierr, errmsg) result(op)
    type(*), dimension(..), target, asynchronous, intent(inout) :: buffer
    integer, intent(in) :: group_dst
    integer, optional, intent(in) :: tag, dtype
    integer, optional, intent(out) :: ierr
    character(*), optional, intent(inout) :: errmsg
    type(tutti_p2p_op) :: op
    op%kind = TUTTI_ISEND
    op%group_peer = int(group_dst, c_int32_t)
    op%tag = tag_of(tag)
    op%buffer = tutti_buffer_of(buffer, dtype, ierr, errmsg)
  end function

  !> One message of a batch: an array, contiguous, that a rank's message goes into.
  function tutti_irecv_op(buffer, group_src, tag, dtype, ierr, errmsg) result(op)
    type(*), dimension(..), target, asynchronous, intent(inout) :: buffer
    integer, intent(in) :: group_src
    integer, optional, intent(in) :: tag, dtype
    integer, optional, intent(out) :: ierr
    character(*), optional, intent(inout) :: errmsg
    type(tutti_p2p_op) :: op
    op%kind = TUTTI_IRECV
    op%group_peer = int(group_src, c_int32_t)
    op%tag = tag_of(tag)
    op%buffer = tutti_buffer_of(buffer, dtype, ierr, errmsg)
  end function

  !> Starts several sends and receives, in any mix, in their order. `works` receives as many works;
  !> absent: returns when all are done.
  subroutine tutti_batch_isend_irecv(ops, works, group, timeout_ms, options, ierr, errmsg)
    type(tutti_p2p_op), intent(in) :: ops(:)
    type(tutti_work), optional, intent(out) :: works(:)
    type(tutti_group), optional, intent(in) :: group
    integer, optional, intent(in) :: timeout_ms
    type(tutti_call_options), optional, intent(in) :: options
    integer, optional, intent(out) :: ierr
    character(*), optional, intent(inout) :: errmsg
    type(call_state), target :: this
    integer(c_intptr_t), allocatable :: started(:)

    call begin_call(this, group, timeout_ms, options)
    if (present(works)) then
      allocate (started(size(ops)), source=0_c_intptr_t)
      if (size(works) /= size(ops)) &
        call refuse(this%status, this%error, "works must be as many as ops")
    end if
    if (this%status == TUTTI_OK) &
      this%status = c_tutti_batch_isend_irecv(this%group, ops, size(ops, kind=c_int64_t), &
                                              this%options, started, this%error)
    if (present(works) .and. this%status == TUTTI_OK) works%handle = started
    call end_call(this, ierr=ierr, errmsg=errmsg)
  end subroutine

  pure integer(c_int32_t) function tag_of(tag)
    integer, optional, intent(in) :: tag
    tag_of = 0
    if (present(tag)) tag_of = int(tag, c_int32_t)
  end function
end module tutti_messages
