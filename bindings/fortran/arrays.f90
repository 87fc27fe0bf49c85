!> Arrays of any kind and rank as C's buffers. An array argument of a call is opened before it and
!> closed behind it; what is not contiguous is copied meanwhile, if the call allows that.
module tutti_arrays
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64
  use tutti_constants
  use tutti_base, only: finish, refuse, to_c
  implicit none
  private
  public :: array_argument, open_array, close_array, note_text, array_extents, bytes_in, fill_array
  public :: tutti_buffer, tutti_buffer_of, tutti_pieces, tutti_device_buffer, end_array

  !> One array argument during a call.
  type, bind(C) :: array_argument
    type(tutti_buffer) :: buffer
    type(c_ptr) :: copy = c_null_ptr
    !> 1: the argument is a text, or may be one. The length of an `errmsg` behind it in the list of
    !> arguments is then not its own (gfortran 12), so nothing may be written there.
    integer(c_int32_t) :: may_be_text = 0
  end type

  !> Cuts a contiguous array into the pieces of the ranks, one behind the other: equal ones, or as
  !> many elements as `counts` says. The array must stay, and be a target, while they are used.
  interface tutti_pieces
    module procedure equal_pieces, counted_pieces, long_pieces
  end interface

  !> tutti_device_buffer(address, count, dtype, device_type, device_index): memory of a device as a
  !> buffer, which every call takes where it takes an array, and lists have beside others. `address`
  !> is the device's: a c_ptr, or transfer(devptr, c_null_ptr) of CUDA Fortran's c_devptr.
  !> `device_type` absent: TUTTI_CUDA; `device_index` absent: 0. An output must be a variable. The
  !> memory must stay until the operation is done, or until its stream has come past it.
  interface tutti_device_buffer
    module procedure device_buffer, long_device_buffer
  end interface

  interface
    integer(c_int32_t) function c_open(array, argument, dtype, may_copy, may_be_buffer, opened, &
                                       error) bind(C, name="tutti_fortran_open")
      import
      type(*), dimension(..), target, asynchronous, intent(in) :: array
      character(kind=c_char), intent(in) :: argument(*)
      integer(c_int32_t), value :: dtype, may_copy, may_be_buffer
      type(array_argument), intent(inout) :: opened
      type(tutti_error), intent(inout) :: error
    end function

    subroutine c_close(array, write_back, opened) bind(C, name="tutti_fortran_close")
      import
      type(*), dimension(..), target, asynchronous, intent(in) :: array
      integer(c_int32_t), value :: write_back
      type(array_argument), intent(inout) :: opened
    end subroutine

    integer(c_int32_t) function c_may_be_text(array) bind(C, name="tutti_fortran_may_be_text")
      import
      type(*), dimension(..), target, asynchronous, intent(in) :: array
    end function

    integer(c_int32_t) function c_extents(array, extents) bind(C, name="tutti_fortran_extents")
      import
      type(*), dimension(..), intent(in) :: array
      integer(c_int64_t), intent(out) :: extents(*)
    end function

    integer(c_int32_t) function c_fill(array, argument, data, dtype, shape, dimensions, error) &
        bind(C, name="tutti_fortran_fill")
      import
      type(*), dimension(..), intent(inout) :: array
      character(kind=c_char), intent(in) :: argument(*)
      type(c_ptr), value :: data, shape
      integer(c_int32_t), value :: dtype, dimensions
      type(tutti_error), intent(inout) :: error
    end function
  end interface
contains
  !> Looks at an array argument; nothing is copied if the call has failed already. With
  !> `may_be_buffer` it may be a tutti_buffer as well.
  subroutine open_array(name, array, dtype, may_copy, opened, status, error, may_be_buffer)
    character(*), intent(in) :: name
    type(*), dimension(..), target, asynchronous, intent(in) :: array
    integer, optional, intent(in) :: dtype
    logical, intent(in) :: may_copy
    type(array_argument), intent(inout) :: opened
    integer(c_int32_t), intent(inout) :: status
    type(tutti_error), intent(inout) :: error
    logical, optional, intent(in) :: may_be_buffer
    integer(c_int32_t) :: wanted, buffers

    buffers = 0
    if (present(may_be_buffer)) buffers = merge(1_c_int32_t, 0_c_int32_t, may_be_buffer)
    call note_text(array, opened)
    if (status /= TUTTI_OK) return
    wanted = -1
    if (present(dtype)) wanted = int(dtype, c_int32_t)
    status = c_open(array, name // c_null_char, wanted, &
                    merge(1_c_int32_t, 0_c_int32_t, may_copy), buffers, opened, error)
    if (status == TUTTI_OK .and. present(dtype) .and. wanted < 0) &
      call refuse(status, error, "dtype is negative")
  end subroutine

  !> Looks no further than whether an array may be a text.
  subroutine note_text(array, opened)
    type(*), dimension(..), target, asynchronous, intent(in) :: array
    type(array_argument), intent(inout) :: opened
    opened%may_be_text = c_may_be_text(array)
  end subroutine

  !> Ends what open_array began; a copy is brought back if the call has written it.
  subroutine close_array(array, written, opened)
    type(*), dimension(..), target, asynchronous, intent(in) :: array
    logical, intent(in) :: written
    type(array_argument), intent(inout) :: opened
    if (c_associated(opened%copy)) &
      call c_close(array, merge(1_c_int32_t, 0_c_int32_t, written), opened)
  end subroutine

  !> The extents of an array, the last dimension first.
  subroutine array_extents(array, extents)
    type(*), dimension(..), intent(in) :: array
    integer(c_int64_t), allocatable, intent(out) :: extents(:)
    integer(c_int32_t) :: status
    allocate (extents(rank(array)))
    status = c_extents(array, extents)
  end subroutine

  !> How many bytes of C an array has.
  integer(c_size_t) function bytes_in(opened)
    use tutti_functions, only: c_tutti_dtype_size
    type(array_argument), intent(in) :: opened
    bytes_in = opened%buffer%count * c_tutti_dtype_size(opened%buffer%dtype)
  end function

  !> Copies elements from C into an array of the same type and shape.
  subroutine fill_array(name, array, data, dtype, shape, dimensions, status, error)
    character(*), intent(in) :: name
    type(*), dimension(..), intent(inout) :: array
    type(c_ptr), intent(in) :: data, shape
    integer(c_int32_t), intent(in) :: dtype, dimensions
    integer(c_int32_t), intent(out) :: status
    type(tutti_error), intent(inout) :: error
    status = c_fill(array, name // c_null_char, data, dtype, shape, dimensions, error)
  end subroutine

  !> A contiguous array as one buffer of a list. The array must stay, and be a target, while the
  !> buffer is used. A buffer stays as it is.
  function tutti_buffer_of(array, dtype, ierr, errmsg) result(buffer)
    type(*), dimension(..), target, asynchronous, intent(inout) :: array
    integer, optional, intent(in) :: dtype
    include "error.inc"
    type(tutti_buffer) :: buffer
    type(array_argument) :: opened

    status = TUTTI_OK
    call open_array("array", array, dtype, .false., opened, status, error, .true.)
    buffer = opened%buffer
    call end_array(opened, status, error, ierr, errmsg)
  end function

  function device_buffer(address, count, dtype, device_type, device_index) result(buffer)
    type(c_ptr), intent(in) :: address
    integer, intent(in) :: count
    integer, intent(in) :: dtype
    integer, optional, intent(in) :: device_type, device_index
    type(tutti_buffer) :: buffer
    buffer = long_device_buffer(address, int(count, int64), dtype, device_type, device_index)
  end function

  function long_device_buffer(address, count, dtype, device_type, device_index) result(buffer)
    type(c_ptr), intent(in) :: address
    integer(int64), intent(in) :: count
    integer, intent(in) :: dtype
    integer, optional, intent(in) :: device_type, device_index
    type(tutti_buffer) :: buffer

    buffer%data = address
    buffer%count = count
    buffer%dtype = int(dtype, c_int32_t)
    buffer%device_type = TUTTI_CUDA
    if (present(device_type)) buffer%device_type = int(device_type, c_int32_t)
    if (present(device_index)) buffer%device_index = int(device_index, c_int32_t)
  end function

  function equal_pieces(array, pieces, dtype, ierr, errmsg) result(buffers)
    type(*), dimension(..), target, asynchronous, intent(inout) :: array
    integer, intent(in) :: pieces
    integer, optional, intent(in) :: dtype
    integer, optional, intent(out) :: ierr
    character(*), optional, intent(inout) :: errmsg
    type(tutti_buffer) :: buffers(max(pieces, 0))
    type(array_argument) :: opened
    type(tutti_error) :: error
    integer(c_int64_t) :: counts(max(pieces, 0))
    integer(c_int32_t) :: status

    status = TUTTI_OK
    call open_array("array", array, dtype, .false., opened, status, error, .true.)
    if (status == TUTTI_OK .and. pieces < 1) call refuse(status, error, "pieces must be 1 or more")
    if (status == TUTTI_OK) then
      counts = opened%buffer%count / pieces
      call cut(opened%buffer, counts, "array cannot be cut into equal pieces", buffers, status, &
               error)
    end if
    call end_array(opened, status, error, ierr, errmsg)
  end function

  function counted_pieces(array, counts, dtype, ierr, errmsg) result(buffers)
    type(*), dimension(..), target, asynchronous, intent(inout) :: array
    integer, intent(in) :: counts(:)
    integer, optional, intent(in) :: dtype
    integer, optional, intent(out) :: ierr
    character(*), optional, intent(inout) :: errmsg
    type(tutti_buffer) :: buffers(size(counts))
    buffers = long_pieces(array, int(counts, int64), dtype, ierr, errmsg)
  end function

  function long_pieces(array, counts, dtype, ierr, errmsg) result(buffers)
    type(*), dimension(..), target, asynchronous, intent(inout) :: array
    integer(int64), intent(in) :: counts(:)
    integer, optional, intent(in) :: dtype
    include "error.inc"
    type(tutti_buffer) :: buffers(size(counts))
    type(array_argument) :: opened

    status = TUTTI_OK
    call open_array("array", array, dtype, .false., opened, status, error, .true.)
    if (status == TUTTI_OK .and. any(counts < 0)) &
      call refuse(status, error, "counts must be 0 or more")
    if (status == TUTTI_OK) &
      call cut(opened%buffer, counts, &
               "counts must be together as many elements as array has", buffers, status, error)
    call end_array(opened, status, error, ierr, errmsg)
  end function

  !> Ends a call whose only array this was.
  subroutine end_array(opened, status, error, ierr, errmsg)
    type(array_argument), intent(in) :: opened
    integer(c_int32_t), intent(in) :: status
    type(tutti_error), intent(inout) :: error
    integer, optional, intent(out) :: ierr
    character(*), optional, intent(inout) :: errmsg
    if (opened%may_be_text /= 0) then
      call finish(status, error, ierr)
    else
      call finish(status, error, ierr, errmsg)
    end if
  end subroutine

  !> The pieces of a buffer; `complaint` if they are not all of it.
  subroutine cut(whole, counts, complaint, buffers, status, error)
    use tutti_functions, only: c_tutti_dtype_size
    type(tutti_buffer), intent(in) :: whole
    integer(c_int64_t), intent(in) :: counts(:)
    character(*), intent(in) :: complaint
    type(tutti_buffer), intent(out) :: buffers(:)
    integer(c_int32_t), intent(inout) :: status
    type(tutti_error), intent(inout) :: error
    integer(c_intptr_t) :: address
    integer :: i

    if (sum(counts) /= whole%count) then
      call refuse(status, error, complaint)
      return
    end if
    address = transfer(whole%data, address)
    do i = 1, size(counts)
      buffers(i) = whole
      buffers(i)%count = counts(i)
      buffers(i)%data = transfer(address, c_null_ptr)
      address = address + int(counts(i) * c_tutti_dtype_size(whole%dtype), c_intptr_t)
    end do
  end subroutine
end module tutti_arrays
