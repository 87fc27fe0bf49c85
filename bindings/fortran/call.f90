!> What all collectives and messages have in common: the group, the timeout, the work, the arrays
!> that are opened before and closed behind.
module tutti_calls
  use, intrinsic :: iso_c_binding
  use tutti_constants, only: tutti_error, tutti_buffer, tutti_call_options, TUTTI_OK
  use tutti_arrays, only: array_argument, open_array, close_array
  use tutti_base, only: finish, milliseconds, refuse
  use tutti_groups, only: tutti_group, group_handle
  use tutti_works, only: tutti_work
  implicit none
  private
  public :: call_of, argument, begin_call, take, give_back, end_call
  public :: note_gathering, forget_gathering

  !> A call while it is made. Declared as a target, for C receives the work in it.
  type :: call_of
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

  interface
    integer(c_int32_t) function set_gathering(group, gathering) &
        bind(C, name="tutti_fortran_set_gathering")
      import :: c_int32_t, c_intptr_t
      integer(c_intptr_t), value :: group
      integer(c_int32_t), value :: gathering
    end function
  end interface
contains
  subroutine begin_call(this, group, timeout_ms, work)
    type(call_of), target, intent(inout) :: this
    type(tutti_group), optional, intent(in) :: group
    integer, optional, intent(in) :: timeout_ms
    type(tutti_work), optional, intent(in) :: work

    this%group = group_handle(group)
    this%options%timeout_ms = milliseconds(timeout_ms)
    if (present(work)) this%work => this%started
    this%may_copy = .not. present(work)
  end subroutine

  !> Takes an array as the call's argument of this name; an absent one stays NULL.
  subroutine take(this, into, name, array, dtype)
    type(call_of), intent(inout) :: this
    type(argument), target, intent(inout) :: into
    character(*), intent(in) :: name
    type(*), dimension(..), optional, target, asynchronous, intent(in) :: array
    integer, optional, intent(in) :: dtype

    if (.not. present(array)) return
    call open_array(name, array, dtype, this%may_copy, into%array, this%status, this%error, &
                    this%group)
    into%buffer => into%array%buffer
    if (into%array%may_be_text /= 0) this%may_write_errmsg = .false.
  end subroutine

  !> Gives an array back to the caller; `written`: the call has written into it.
  subroutine give_back(this, from, array, written)
    type(call_of), intent(in) :: this
    type(argument), intent(inout) :: from
    type(*), dimension(..), optional, target, asynchronous, intent(in) :: array
    logical, intent(in) :: written
    if (present(array)) call close_array(array, written .and. this%status == TUTTI_OK, from%array)
  end subroutine

  subroutine end_call(this, work, ierr, errmsg)
    type(call_of), intent(inout) :: this
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

  !> Notes that a group's calls are gathered from now on; `before`: they were already.
  subroutine note_gathering(group, before, status, error)
    integer(c_intptr_t), intent(in) :: group
    logical, intent(out) :: before
    integer(c_int32_t), intent(out) :: status
    type(tutti_error), intent(inout) :: error
    integer(c_int32_t) :: was

    was = set_gathering(group, 1_c_int32_t)
    before = was == 1
    status = TUTTI_OK
    if (was < 0) call refuse(status, error, "no memory to note that calls are gathered")
  end subroutine

  subroutine forget_gathering(group)
    integer(c_intptr_t), intent(in) :: group
    integer(c_int32_t) :: was
    was = set_gathering(group, 0_c_int32_t)
  end subroutine
end module tutti_calls
