!> Memory for the data of collectives and messages, which the ranks of one host read where it is, so
!> that calls copy less. It is given as a pointer to an array of one dimension; p(1:n, 1:m) => array
!> makes more of it.
module tutti_memory
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use tutti_arrays, only: tutti_device_buffer
  use tutti_constants, only: tutti_buffer, tutti_error, tutti_memory_options, TUTTI_OK
  use tutti_base
  use tutti_functions, only: c_tutti_dtype_size, c_tutti_memory_alloc, c_tutti_memory_release
  use tutti_groups, only: tutti_group, group_handle
  implicit none
  private
  public :: tutti_memory_alloc, tutti_memory_release

  !> tutti_memory_alloc(array, count, group, timeout_ms, ...): points `array` at memory for as many
  !> elements, all zero. All ranks of the group call it, each for as many as it wants, also 0. The
  !> memory stays until tutti_memory_release, also after the group's end.
  !> tutti_memory_alloc(buffer, count, dtype, device_type, device_index, group, timeout_ms, ...):
  !> memory of a device, as a buffer. `device_type` absent: TUTTI_CUDA; `device_index` absent: 0.
  interface tutti_memory_alloc
    module procedure alloc_int8, alloc_int16, alloc_int32, alloc_int64, alloc_real32, alloc_real64
    module procedure alloc_complex32, alloc_complex64, alloc_bool, alloc_buffer
  end interface

  !> tutti_memory_release(array): gives memory back, once no operation uses it, and nullifies
  !> `array`; other pointers to the memory are left dangling. One that is not associated is passed
  !> over.
  interface tutti_memory_release
    module procedure release_int8, release_int16, release_int32, release_int64, release_real32
    module procedure release_real64, release_complex32, release_complex64, release_bool
    module procedure release_buffer
  end interface
contains
  subroutine alloc_int8(array, count, group, timeout_ms, ierr, errmsg)
    integer(int8), pointer, intent(out) :: array(:)
    include "memory_alloc.inc"
  end subroutine

  subroutine alloc_int16(array, count, group, timeout_ms, ierr, errmsg)
    integer(int16), pointer, intent(out) :: array(:)
    include "memory_alloc.inc"
  end subroutine

  subroutine alloc_int32(array, count, group, timeout_ms, ierr, errmsg)
    integer(int32), pointer, intent(out) :: array(:)
    include "memory_alloc.inc"
  end subroutine

  subroutine alloc_int64(array, count, group, timeout_ms, ierr, errmsg)
    integer(int64), pointer, intent(out) :: array(:)
    include "memory_alloc.inc"
  end subroutine

  subroutine alloc_real32(array, count, group, timeout_ms, ierr, errmsg)
    real(real32), pointer, intent(out) :: array(:)
    include "memory_alloc.inc"
  end subroutine

  subroutine alloc_real64(array, count, group, timeout_ms, ierr, errmsg)
    real(real64), pointer, intent(out) :: array(:)
    include "memory_alloc.inc"
  end subroutine

  subroutine alloc_complex32(array, count, group, timeout_ms, ierr, errmsg)
    complex(real32), pointer, intent(out) :: array(:)
    include "memory_alloc.inc"
  end subroutine

  subroutine alloc_complex64(array, count, group, timeout_ms, ierr, errmsg)
    complex(real64), pointer, intent(out) :: array(:)
    include "memory_alloc.inc"
  end subroutine

  subroutine alloc_bool(array, count, group, timeout_ms, ierr, errmsg)
    logical(c_bool), pointer, intent(out) :: array(:)
    include "memory_alloc.inc"
  end subroutine

  subroutine alloc_buffer(buffer, count, dtype, device_type, device_index, group, timeout_ms, &
                          ierr, errmsg)
    type(tutti_buffer), intent(out) :: buffer
    integer, intent(in) :: count
    integer, intent(in) :: dtype
    integer, optional, intent(in) :: device_type, device_index
    type(tutti_group), optional, intent(in) :: group
    integer, optional, intent(in) :: timeout_ms
    integer, optional, intent(out) :: ierr
    character(*), optional, intent(inout) :: errmsg
    type(tutti_memory_options) :: options

    buffer = tutti_device_buffer(c_null_ptr, count, dtype, device_type, device_index)
    options%device_type = buffer%device_type
    options%device_index = buffer%device_index
    buffer%data = memory_for(count, 8 * int(c_tutti_dtype_size(buffer%dtype)), group, timeout_ms, &
                             ierr, errmsg, options)
    if (.not. c_associated(buffer%data)) buffer = tutti_buffer()
  end subroutine

  subroutine release_buffer(buffer)
    type(tutti_buffer), intent(inout) :: buffer
    call c_tutti_memory_release(buffer%data)
    buffer = tutti_buffer()
  end subroutine

  subroutine release_int8(array)
    integer(int8), pointer, intent(inout) :: array(:)
    include "memory_release.inc"
  end subroutine

  subroutine release_int16(array)
    integer(int16), pointer, intent(inout) :: array(:)
    include "memory_release.inc"
  end subroutine

  subroutine release_int32(array)
    integer(int32), pointer, intent(inout) :: array(:)
    include "memory_release.inc"
  end subroutine

  subroutine release_int64(array)
    integer(int64), pointer, intent(inout) :: array(:)
    include "memory_release.inc"
  end subroutine

  subroutine release_real32(array)
    real(real32), pointer, intent(inout) :: array(:)
    include "memory_release.inc"
  end subroutine

  subroutine release_real64(array)
    real(real64), pointer, intent(inout) :: array(:)
    include "memory_release.inc"
  end subroutine

  subroutine release_complex32(array)
    complex(real32), pointer, intent(inout) :: array(:)
    include "memory_release.inc"
  end subroutine

  subroutine release_complex64(array)
    complex(real64), pointer, intent(inout) :: array(:)
    include "memory_release.inc"
  end subroutine

  subroutine release_bool(array)
    logical(c_bool), pointer, intent(inout) :: array(:)
    include "memory_release.inc"
  end subroutine

  !> Where there is room for `count` elements of so many bits; NULL if there is none.
  function memory_for(count, bits, group, timeout_ms, ierr, errmsg, given) result(memory)
    integer, intent(in) :: count, bits
    type(tutti_group), optional, intent(in) :: group
    integer, optional, intent(in) :: timeout_ms
    include "error.inc"
    type(tutti_memory_options), optional, intent(in) :: given
    type(c_ptr) :: memory
    type(tutti_memory_options) :: options

    memory = c_null_ptr
    status = TUTTI_OK
    if (count < 0) call refuse(status, error, "count must be 0 or more")
    if (present(given)) options = given
    options%timeout_ms = milliseconds(timeout_ms)
    if (status == TUTTI_OK) &
      status = c_tutti_memory_alloc(group_handle(group), int(count, c_int64_t) * (bits / 8), &
                                    options, memory, error)
    call finish(status, error, ierr, errmsg)
  end function
end module tutti_memory
