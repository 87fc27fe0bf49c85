!> What all collectives and messages have in common: the group, the timeout, the work, the arrays
!> that are opened before and closed behind.
module tutti_calls
  use, intrinsic :: iso_c_binding
  use tutti_constants, only: tutti_error, tutti_buffer, tutti_call_options, TUTTI_OK
  use tutti_arrays, only: array_argument, open_array, close_array
  use tutti_base, only: finish, milliseconds, refuse, tutti_error_message
  use tutti_functions, only: c_tutti_work_wait, c_tutti_work_release
  use tutti_groups, only: tutti_group, group_handle
  use tutti_works, only: tutti_work
  implicit none
  private
  public :: call_of, argument, begin_call, take, give_back, end_call
  public :: room, count_gathering

  !> A call while it is made. Declared as a target, for C receives the work in it.
  type :: call_of
    integer(c_intptr_t) :: group = 0
    type(tutti_call_options) :: options
    integer(c_int32_t) :: status = TUTTI_OK
    type(tutti_error) :: error
    logical :: may_copy = .true.
    logical :: may_be_gathered = .true.
    logical :: may_write_errmsg = .true.
    !> NULL, which is absent for C: the call returns when it is done
    integer(c_intptr_t), pointer :: work => null()
    integer(c_intptr_t) :: started = 0
    !> The argument for whose copy the call has a work, which nobody but the call itself sees.
    character(:), allocatable :: copied
  end type

  !> An array argument while a call is made. Declared as a target.
  type :: argument
    type(array_argument) :: array
    !> NULL, which is absent for C, if the argument is
    type(tutti_buffer), pointer :: buffer => null()
  end type

  interface
    !> Notes that the calls of one group more, 1, or of one less, -1, are being gathered.
    subroutine count_gathering(change) bind(C, name="tutti_fortran_count_gathering")
      import :: c_int32_t
      integer(c_int32_t), value :: change
    end subroutine

    integer(c_int32_t) function gatherings() bind(C, name="tutti_fortran_gatherings")
      import :: c_int32_t
    end function
  end interface
contains
  !> `is_message`: C never gathers the call.
  subroutine begin_call(this, group, timeout_ms, work, is_message)
    type(call_of), target, intent(inout) :: this
    type(tutti_group), optional, intent(in) :: group
    integer, optional, intent(in) :: timeout_ms
    type(tutti_work), optional, intent(in) :: work
    logical, optional, intent(in) :: is_message

    this%group = group_handle(group)
    this%options%timeout_ms = milliseconds(timeout_ms)
    if (present(work)) this%work => this%started
    this%may_copy = .not. present(work)
    if (present(is_message)) this%may_be_gathered = .not. is_message
  end subroutine

  !> Takes an array as the call's argument of this name; an absent one stays NULL.
  subroutine take(this, into, name, array, dtype)
    type(call_of), target, intent(inout) :: this
    type(argument), target, intent(inout) :: into
    character(*), intent(in) :: name
    type(*), dimension(..), optional, target, asynchronous, intent(in) :: array
    integer, optional, intent(in) :: dtype

    if (.not. present(array)) return
    call open_array(name, array, dtype, this%may_copy, into%array, this%status, this%error)
    into%buffer => into%array%buffer
    if (into%array%may_be_text /= 0) this%may_write_errmsg = .false.
    if (c_associated(into%array%copy)) call guard_copy(this, name)
  end subroutine

  !> Calls that are gathered borrow their arrays until all of them are done, and a copy would be
  !> gone by then. Only C knows whether the group's calls are; then it refuses one with a work.
  subroutine guard_copy(this, name)
    type(call_of), target, intent(inout) :: this
    character(*), intent(in) :: name
    if (gatherings() == 0 .or. .not. this%may_be_gathered) return
    this%work => this%started
    this%copied = name
  end subroutine

  !> Waits for the work that a copy brought about.
  subroutine settle(this)
    type(call_of), intent(inout) :: this

    if (.not. allocated(this%copied)) return
    if (this%status == TUTTI_OK) &
      this%status = c_tutti_work_wait(this%started, 0_c_int64_t, this%error)
    call c_tutti_work_release(this%started)
    this%started = 0
    if (index(tutti_error_message(this%error), "while calls are gathered") > 0) &
      call refuse(this%status, this%error, this%copied // " would have to be copied, and " &
                  // "gathered calls outlive a copy: pass a contiguous array, or logical(c_bool)")
    deallocate (this%copied)
  end subroutine

  !> Gives an array back to the caller; `written`: the call has written into it.
  subroutine give_back(this, from, array, written)
    type(call_of), intent(inout) :: this
    type(argument), intent(inout) :: from
    type(*), dimension(..), optional, target, asynchronous, intent(in) :: array
    logical, intent(in) :: written
    call settle(this)
    if (present(array)) call close_array(array, written .and. this%status == TUTTI_OK, from%array)
  end subroutine

  !> The handles in the argument of this name, a list of objects or bytes at an address, where C
  !> itself writes them, also after the call.
  subroutine room(this, name, address, count, is_whole, handles)
    type(call_of), intent(inout) :: this
    character(*), intent(in) :: name
    type(c_ptr), intent(in) :: address
    integer, intent(in) :: count
    logical, intent(in) :: is_whole
    integer(c_intptr_t), pointer, contiguous, intent(out) :: handles(:)

    call c_f_pointer(address, handles, [count])
    if (count > 1 .and. .not. is_whole) &
      call refuse(this%status, this%error, name // " is not contiguous")
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
end module tutti_calls
