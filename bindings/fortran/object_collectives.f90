!> Objects between ranks. What a call receives are objects of its own, to be released. With a `work`
!> they stay in the work until tutti_work_take_objects.
module tutti_object_exchange
  use, intrinsic :: iso_c_binding
  use tutti_constants, only: tutti_error, tutti_object_options, TUTTI_OK
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
  public :: tutti_work_take_objects
contains
  !> Every rank receives the objects of the rank `group_src`, where `objects` are those that it
  !> gives; elsewhere what was in `objects` is forgotten, not released. With a `work`, `objects`
  !> there only says how many come.
  subroutine tutti_broadcast_object_list(objects, group_src, group, object_options, timeout_ms, &
                                         options, work, ierr, errmsg)
    type(tutti_object), target, intent(inout) :: objects(:)
    integer, intent(in) :: group_src
    type(tutti_object_options), optional, intent(in) :: object_options
    include "call.inc"
    integer(c_intptr_t), allocatable :: given(:)
    integer(c_intptr_t), pointer, contiguous :: received(:)

    call begin_call(this, group, timeout_ms, options, work)
    nullify (received)
    if (c_tutti_get_rank(this%group) == group_src) then
      allocate (given(size(objects)))
      given = objects%handle
    else if (.not. present(work)) then
      call out_handles(this, "objects", c_loc(objects), size(objects), is_contiguous(objects), &
                       received)
    end if
    if (this%status == TUTTI_OK) &
      this%status = c_tutti_broadcast_object_list( &
        this%group, given, size(objects, kind=c_int64_t), int(group_src, c_int32_t), &
        object_options, this%options, received, this%work, this%error)
    call end_call(this, work, ierr, errmsg)
  end subroutine

  !> Every rank receives one object of every rank, in rank order. With a `work`, `objects` must be
  !> absent.
  subroutine tutti_all_gather_object(object, objects, group, object_options, timeout_ms, options, &
                                     work, ierr, errmsg)
    type(tutti_object), intent(in) :: object
    type(tutti_object), optional, target, intent(inout) :: objects(:)
    type(tutti_object_options), optional, intent(in) :: object_options
    include "call.inc"
    integer(c_intptr_t), pointer, contiguous :: received(:)
    integer(c_int64_t) :: count

    call begin_call(this, group, timeout_ms, options, work)
    call room_for(this, objects, received, count)
    call check_room(this, "objects", present(objects), count)
    if (this%status == TUTTI_OK) &
      this%status = c_tutti_all_gather_object( &
        this%group, object%handle, object_options, this%options, received, count, this%work, &
        this%error)
    call end_call(this, work, ierr, errmsg)
  end subroutine

  !> The rank `group_dst` receives one object of every rank; it alone gives `objects`, if there is no
  !> `work`.
  subroutine tutti_gather_object(object, group_dst, objects, group, object_options, timeout_ms, &
                                 options, work, ierr, errmsg)
    type(tutti_object), intent(in) :: object
    integer, intent(in) :: group_dst
    type(tutti_object), optional, target, intent(inout) :: objects(:)
    type(tutti_object_options), optional, intent(in) :: object_options
    include "call.inc"
    integer(c_intptr_t), pointer, contiguous :: received(:)
    integer(c_int64_t) :: count

    call begin_call(this, group, timeout_ms, options, work)
    call room_for(this, objects, received, count)
    if (c_tutti_get_rank(this%group) == group_dst) &
      call check_room(this, "objects", present(objects), count)
    if (this%status == TUTTI_OK) &
      this%status = c_tutti_gather_object( &
        this%group, object%handle, int(group_dst, c_int32_t), object_options, this%options, &
        received, count, this%work, this%error)
    call end_call(this, work, ierr, errmsg)
  end subroutine

  !> Every rank receives its object of those that the rank `group_src` has, which alone gives
  !> `objects`. With a `work`, `object` must be absent.
  subroutine tutti_scatter_object_list(object, group_src, objects, group, object_options, &
                                       timeout_ms, options, work, ierr, errmsg)
    type(tutti_object), optional, target, intent(inout) :: object
    integer, intent(in) :: group_src
    type(tutti_object), optional, intent(in) :: objects(:)
    type(tutti_object_options), optional, intent(in) :: object_options
    include "call.inc"
    integer(c_intptr_t), allocatable :: given(:)
    integer(c_intptr_t), pointer :: received
    integer(c_int64_t) :: count

    call begin_call(this, group, timeout_ms, options, work)
    count = 0
    if (present(objects)) then
      count = size(objects, kind=c_int64_t)
      allocate (given(size(objects)))
      given = objects%handle
    end if
    nullify (received)
    if (present(object)) received => object%handle
    call check_place(this, "object", present(object))
    if (this%status == TUTTI_OK) &
      this%status = c_tutti_scatter_object_list( &
        this%group, given, count, int(group_src, c_int32_t), object_options, this%options, &
        received, this%work, this%error)
    call end_call(this, work, ierr, errmsg)
  end subroutine

  !> Sends objects to one rank, which receives them with tutti_recv_object_list and the same tag.
  subroutine tutti_send_object_list(objects, group_dst, tag, group, object_options, timeout_ms, &
                                    options, work, ierr, errmsg)
    type(tutti_object), intent(in) :: objects(:)
    integer, intent(in) :: group_dst
    integer, optional, intent(in) :: tag
    type(tutti_object_options), optional, intent(in) :: object_options
    include "call.inc"

    call begin_call(this, group, timeout_ms, options, work)
    this%status = c_tutti_send_object_list( &
      this%group, objects%handle, size(objects, kind=c_int64_t), int(group_dst, c_int32_t), &
      tag_of(tag), object_options, this%options, this%work, this%error)
    call end_call(this, work, ierr, errmsg)
  end subroutine

  !> Receives as many objects as `objects` has room for from one rank, or with TUTTI_ANY_RANK any.
  !> With a `work`, `objects` only says how many come.
  subroutine tutti_recv_object_list(objects, group_src, tag, group, out_group_src, object_options, &
                                    timeout_ms, options, work, ierr, errmsg)
    type(tutti_object), target, intent(inout) :: objects(:)
    integer, intent(in) :: group_src
    integer, optional, intent(in) :: tag
    integer, optional, intent(out) :: out_group_src
    type(tutti_object_options), optional, intent(in) :: object_options
    include "call.inc"
    integer(c_intptr_t), pointer, contiguous :: received(:)

    call begin_call(this, group, timeout_ms, options, work)
    if (present(out_group_src)) out_group_src = -1
    nullify (received)
    if (.not. present(work)) &
      call out_handles(this, "objects", c_loc(objects), size(objects), is_contiguous(objects), &
                       received)
    if (this%status == TUTTI_OK) &
      this%status = c_tutti_recv_object_list( &
        this%group, int(group_src, c_int32_t), tag_of(tag), object_options, this%options, &
        received, size(objects, kind=c_int64_t), out_group_src, this%work, this%error)
    call end_call(this, work, ierr, errmsg)
  end subroutine

  !> Where C writes objects, and how many; NULL and 0 if they are absent.
  subroutine room_for(this, objects, handles, count)
    type(call_state), intent(inout) :: this
    type(tutti_object), optional, target, intent(inout) :: objects(:)
    integer(c_intptr_t), pointer, contiguous, intent(out) :: handles(:)
    integer(c_int64_t), intent(out) :: count

    nullify (handles)
    count = 0
    if (.not. present(objects)) return
    call out_handles(this, "objects", c_loc(objects), size(objects), is_contiguous(objects), &
                     handles)
    count = size(handles, kind=c_int64_t)
  end subroutine

  !> Takes the objects that an operation has received: one of every rank, or as many as were asked
  !> for. Once; what nobody takes is released with the work.
  subroutine tutti_work_take_objects(work, objects, ierr, errmsg)
    type(tutti_work), intent(in) :: work
    type(tutti_object), intent(inout) :: objects(:)
    include "error.inc"
    integer(c_intptr_t) :: handles(size(objects))

    handles = 0
    status = c_tutti_work_take_objects(work%handle, handles, size(handles, kind=c_int64_t), error)
    if (status == TUTTI_OK) objects%handle = handles
    call finish(status, error, ierr, errmsg)
  end subroutine
end module tutti_object_exchange
