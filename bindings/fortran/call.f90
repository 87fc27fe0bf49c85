!> The common part of all collectives and messages: the group, the timeout, the work, the arrays
!> that are opened before and closed behind.
module tutti_calls
  use, intrinsic :: iso_c_binding
  use tutti_constants, only: tutti_error, tutti_buffer, tutti_call_options, TUTTI_OK
  use tutti_arrays, only: array_argument, open_array, close_array
  use tutti_base, only: finish, refuse
  use tutti_functions, only: c_tutti_get_world_size
  use tutti_groups, only: tutti_group, group_handle
  use tutti_works, only: tutti_work
  implicit none
  private
  public :: call_state, argument, begin_call, borrow, return_array, end_call
  public :: out_handles, check_room, check_place, tutti_call_options

  !> A call while it is made. Declared as a target, for C receives the work in it.
  type :: call_state
    integer(c_intptr_t) :: group = 0
    type(tutti_call_options) :: options
    integer(c_int32_t) :: status = TUTTI_OK
    type(tutti_error) :: error
    logical :: may_copy = .true.
    logical :: may_write_errmsg = .true.
    !> NULL, which is absent for C: the call returns when it is done
    integer(c_intptr_t), pointer :: work => null()
    integer(c_intptr_t) :: started = 0
  end type

  !> An array argument while a call is made. Declared as a target.
  type :: argument
    type(array_argument) :: array
    !> NULL, which is absent for C, if the argument is
    type(tutti_buffer), pointer :: buffer => null()
  end type

contains
  !> An array is copied only for a call that returns when it is done: not if there is a `work`, and
  !> not if the group is a coalescing.
  subroutine begin_call(this, group, timeout_ms, options, work)
    type(call_state), target, intent(inout) :: this
    type(tutti_group), optional, intent(in) :: group
    integer, optional, intent(in) :: timeout_ms
    type(tutti_call_options), optional, intent(in) :: options
    type(tutti_work), optional, intent(in) :: work

    this%group = group_handle(group)
    if (present(options)) this%options = options
    if (present(timeout_ms)) this%options%timeout_ms = timeout_ms
    if (present(work)) this%work => this%started
    this%may_copy = .not. present(work)
    if (present(group)) this%may_copy = this%may_copy .and. .not. group%coalesces
  end subroutine

  !> Borrows an array, or a buffer, as the call's argument of this name; an absent one stays NULL.
  subroutine borrow(this, into, name, array, dtype)
    type(call_state), target, intent(inout) :: this
    type(argument), target, intent(inout) :: into
    character(*), intent(in) :: name
    type(*), dimension(..), optional, target, asynchronous, intent(in) :: array
    integer, optional, intent(in) :: dtype

    if (.not. present(array)) return
    call open_array(name, array, dtype, this%may_copy, into%array, this%status, this%error, &
                    .true.)
    into%buffer => into%array%buffer
    if (into%array%may_be_text /= 0) this%may_write_errmsg = .false.
  end subroutine

  !> Returns an array to the caller; `written`: the call has written into it.
  subroutine return_array(this, from, array, written)
    type(call_state), intent(inout) :: this
    type(argument), intent(inout) :: from
    type(*), dimension(..), optional, target, asynchronous, intent(in) :: array
    logical, intent(in) :: written
    if (present(array)) call close_array(array, written .and. this%status == TUTTI_OK, from%array)
  end subroutine

  !> Where C writes handles: in the argument of this name, a list of objects or bytes at an address.
  subroutine out_handles(this, name, address, count, is_whole, handles)
    type(call_state), intent(inout) :: this
    character(*), intent(in) :: name
    type(c_ptr), intent(in) :: address
    integer, intent(in) :: count
    logical, intent(in) :: is_whole
    integer(c_intptr_t), pointer, contiguous, intent(out) :: handles(:)

    call c_f_pointer(address, handles, [count])
    if (count > 1 .and. .not. is_whole) &
      call refuse(this%status, this%error, name // " is not contiguous")
  end subroutine

  !> Refuses an argument of this name that has no room, `count`, for one handle of every rank, and
  !> one that is given though there is a `work`, in which they stay until they are taken.
  subroutine check_room(this, name, given, count)
    type(call_state), intent(inout) :: this
    character(*), intent(in) :: name
    logical, intent(in) :: given
    integer(c_int64_t), intent(in) :: count
    integer(c_int32_t) :: ranks

    ranks = c_tutti_get_world_size(this%group)
    if (given .and. associated(this%work)) then
      call refuse(this%status, this%error, name // " and work are both given: what comes stays &
                  &in the work until it is taken")
    else if (.not. associated(this%work) .and. ranks > 0 .and. count /= ranks) then
      call refuse(this%status, this%error, name // " must be as many as the ranks of the group")
    end if
  end subroutine

  !> Refuses an argument of this name, for one handle, that is given though there is a `work`, and
  !> one that is missing though there is none.
  subroutine check_place(this, name, given)
    type(call_state), intent(inout) :: this
    character(*), intent(in) :: name
    logical, intent(in) :: given
    if (given .eqv. associated(this%work)) &
      call refuse(this%status, this%error, "either " // name // " or work must be given: what &
                  &comes stays in a work until it is taken")
  end subroutine

  subroutine end_call(this, work, ierr, errmsg)
    type(call_state), intent(inout) :: this
    type(tutti_work), optional, intent(inout) :: work
    integer, optional, intent(out) :: ierr
    character(*), optional, intent(inout) :: errmsg
    if (present(work)) work%handle = this%started
    if (this%may_write_errmsg) then
      call finish(this%status, this%error, ierr, errmsg)
    else
      call finish(this%status, this%error, ierr)
    end if
  end subroutine
end module tutti_calls
