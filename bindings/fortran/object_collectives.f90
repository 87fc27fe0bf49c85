!> Objects between ranks. What a call receives are objects of its own, to be released; the handles
!> that they come into must stay where they are until a call with a `work` is done.
module tutti_object_exchange
  use, intrinsic :: iso_c_binding
  use tutti_constants, only: tutti_object_options, TUTTI_OK
  use tutti_base
  use tutti_functions
  use tutti_calls
  use tutti_groups, only: tutti_group
  use tutti_messages, only: tag_of
  use tutti_objects, only: tutti_object
  use tutti_works, only: tutti_work
  implicit none
  private
  public :: tutti_broadcast_object_list, tutti_all_gather_object, tutti_gather_object
  public :: tutti_scatter_object_list, tutti_send_object_list, tutti_recv_object_list
contains
  !> Every rank receives the objects of the rank `group_src`, where `objects` are those that it
  !> gives; elsewhere what was in `objects` is forgotten, not released.
  subroutine tutti_broadcast_object_list(objects, group_src, group, object_options, timeout_ms, &
                                         work, ierr, errmsg)
    type(tutti_object), target, asynchronous, intent(inout) :: objects(:)
    integer, intent(in) :: group_src
    type(tutti_group), optional, intent(in) :: group
    type(tutti_object_options), optional, intent(in) :: object_options
    integer, optional, intent(in) :: timeout_ms
    type(tutti_work), optional, intent(out) :: work
    integer, optional, intent(out) :: ierr
    character(*), optional, intent(inout) :: errmsg
    type(call_of), target :: this
    integer(c_intptr_t), pointer, contiguous :: given(:), received(:)

    call begin_call(this, group, timeout_ms, work)
    nullify (given, received)
    if (c_tutti_get_rank(this%group) == group_src) then
      call room(this, "objects", c_loc(objects), size(objects), is_contiguous(objects), given)
    else
      call room(this, "objects", c_loc(objects), size(objects), is_contiguous(objects), received)
    end if
    if (this%status == TUTTI_OK) &
      this%status = c_tutti_broadcast_object_list( &
        this%group, given, size(objects, kind=c_size_t), received, int(group_src, c_int32_t), &
        object_options, this%options, this%work, this%error)
    call end_call(this, work, ierr, errmsg)
  end subroutine

  !> Every rank receives one object of every rank, in rank order.
  subroutine tutti_all_gather_object(object, objects, group, object_options, timeout_ms, work, &
                                     ierr, errmsg)
    type(tutti_object), intent(in) :: object
    type(tutti_object), target, asynchronous, intent(inout) :: objects(:)
    type(tutti_group), optional, intent(in) :: group
    type(tutti_object_options), optional, intent(in) :: object_options
    integer, optional, intent(in) :: timeout_ms
    type(tutti_work), optional, intent(out) :: work
    integer, optional, intent(out) :: ierr
    character(*), optional, intent(inout) :: errmsg
    type(call_of), target :: this
    integer(c_intptr_t), pointer, contiguous :: received(:)

    call begin_call(this, group, timeout_ms, work)
    call room(this, "objects", c_loc(objects), size(objects), is_contiguous(objects), received)
    if (this%status == TUTTI_OK) &
      this%status = c_tutti_all_gather_object( &
        this%group, object%handle, received, size(objects, kind=c_size_t), object_options, &
        this%options, this%work, this%error)
    call end_call(this, work, ierr, errmsg)
  end subroutine

  !> The rank `group_dst` receives one object of every rank; it alone gives `objects`.
  subroutine tutti_gather_object(object, group_dst, objects, group, object_options, timeout_ms, &
                                 work, ierr, errmsg)
    type(tutti_object), intent(in) :: object
    integer, intent(in) :: group_dst
    type(tutti_object), optional, target, asynchronous, intent(inout) :: objects(:)
    type(tutti_group), optional, intent(in) :: group
    type(tutti_object_options), optional, intent(in) :: object_options
    integer, optional, intent(in) :: timeout_ms
    type(tutti_work), optional, intent(out) :: work
    integer, optional, intent(out) :: ierr
    character(*), optional, intent(inout) :: errmsg
    type(call_of), target :: this
    integer(c_intptr_t), pointer, contiguous :: received(:)
    integer(c_size_t) :: count

    call begin_call(this, group, timeout_ms, work)
    nullify (received)
    count = 0
    if (present(objects)) then
      call room(this, "objects", c_loc(objects), size(objects), is_contiguous(objects), received)
      count = size(objects, kind=c_size_t)
    end if
    if (this%status == TUTTI_OK) &
      this%status = c_tutti_gather_object( &
        this%group, object%handle, received, count, int(group_dst, c_int32_t), object_options, &
        this%options, this%work, this%error)
    call end_call(this, work, ierr, errmsg)
  end subroutine

  !> Every rank receives its object of those that the rank `group_src` has, which alone gives
  !> `objects`.
  subroutine tutti_scatter_object_list(object, group_src, objects, group, object_options, &
                                       timeout_ms, work, ierr, errmsg)
    type(tutti_object), target, asynchronous, intent(inout) :: object
    integer, intent(in) :: group_src
    type(tutti_object), optional, intent(in) :: objects(:)
    type(tutti_group), optional, intent(in) :: group
    type(tutti_object_options), optional, intent(in) :: object_options
    integer, optional, intent(in) :: timeout_ms
    type(tutti_work), optional, intent(out) :: work
    integer, optional, intent(out) :: ierr
    character(*), optional, intent(inout) :: errmsg
    type(call_of), target :: this
    integer(c_intptr_t), allocatable :: given(:)
    integer(c_size_t) :: count

    call begin_call(this, group, timeout_ms, work)
    count = 0
    if (present(objects)) then
      count = size(objects, kind=c_size_t)
      allocate (given(count))
      given = objects%handle
    end if
    object%handle = 0
    this%status = c_tutti_scatter_object_list( &
      this%group, given, count, object%handle, int(group_src, c_int32_t), object_options, &
      this%options, this%work, this%error)
    call end_call(this, work, ierr, errmsg)
  end subroutine

  !> Sends objects to one rank, which receives them with tutti_recv_object_list and the same tag.
  subroutine tutti_send_object_list(objects, group_dst, tag, group, object_options, timeout_ms, &
                                    work, ierr, errmsg)
    type(tutti_object), intent(in) :: objects(:)
    integer, intent(in) :: group_dst
    integer, optional, intent(in) :: tag
    type(tutti_group), optional, intent(in) :: group
    type(tutti_object_options), optional, intent(in) :: object_options
    integer, optional, intent(in) :: timeout_ms
    type(tutti_work), optional, intent(out) :: work
    integer, optional, intent(out) :: ierr
    character(*), optional, intent(inout) :: errmsg
    type(call_of), target :: this

    call begin_call(this, group, timeout_ms, work)
    this%status = c_tutti_send_object_list( &
      this%group, objects%handle, size(objects, kind=c_size_t), int(group_dst, c_int32_t), &
      tag_of(tag), object_options, this%options, this%work, this%error)
    call end_call(this, work, ierr, errmsg)
  end subroutine

  !> Receives as many objects as `objects` has room for from one rank, or with TUTTI_ANY_RANK any.
  subroutine tutti_recv_object_list(objects, group_src, tag, group, out_group_src, object_options, &
                                    timeout_ms, work, ierr, errmsg)
    type(tutti_object), target, asynchronous, intent(inout) :: objects(:)
    integer, intent(in) :: group_src
    integer, optional, intent(in) :: tag
    type(tutti_group), optional, intent(in) :: group
    integer, optional, intent(out) :: out_group_src
    type(tutti_object_options), optional, intent(in) :: object_options
    integer, optional, intent(in) :: timeout_ms
    type(tutti_work), optional, intent(out) :: work
    integer, optional, intent(out) :: ierr
    character(*), optional, intent(inout) :: errmsg
    type(call_of), target :: this
    integer(c_intptr_t), pointer, contiguous :: received(:)

    call begin_call(this, group, timeout_ms, work)
    if (present(out_group_src)) out_group_src = -1
    call room(this, "objects", c_loc(objects), size(objects), is_contiguous(objects), received)
    if (this%status == TUTTI_OK) &
      this%status = c_tutti_recv_object_list( &
        this%group, received, size(objects, kind=c_size_t), int(group_src, c_int32_t), &
        tag_of(tag), object_options, this%options, out_group_src, this%work, this%error)
    call end_call(this, work, ierr, errmsg)
  end subroutine
end module tutti_object_exchange
