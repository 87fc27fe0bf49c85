!> Memory for the data of collectives and messages, which the ranks of one host read where it is, so
!> that calls copy less. It is given as a pointer to an array of one dimension; p(1:n, 1:m) => array
!> makes more of it.
module tutti_memory
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use tutti_constants, only: tutti_error, TUTTI_OK
  use tutti_base
  use tutti_functions, only: c_tutti_alloc, c_tutti_free
  use tutti_groups, only: tutti_group, group_handle
  implicit none
  private
  public :: tutti_alloc, tutti_free

  !> tutti_alloc(array, count, group, ...): points `array` at memory for as many elements, all zero.
  !> All ranks of the group call it, each for as many as it wants, also 0. The memory stays until
  !> tutti_free, also after the group's end.
  interface tutti_alloc
    module procedure alloc_int8, alloc_int16, alloc_int32, alloc_int64, alloc_real32, alloc_real64
    module procedure alloc_complex32, alloc_complex64, alloc_bool
  end interface

  !> tutti_free(array, ...): gives memory back that nothing is using, and nullifies `array`; other
  !> pointers to the memory are left dangling. One that is not associated is passed over.
  interface tutti_free
    module procedure free_int8, free_int16, free_int32, free_int64, free_real32, free_real64
    module procedure free_complex32, free_complex64, free_bool
  end interface
contains
  subroutine alloc_int8(array, count, group, ierr, errmsg)
    integer(int8), pointer, intent(out) :: array(:)
    include "memory_alloc.inc"
  end subroutine

  subroutine alloc_int16(array, count, group, ierr, errmsg)
    integer(int16), pointer, intent(out) :: array(:)
    include "memory_alloc.inc"
  end subroutine

  subroutine alloc_int32(array, count, group, ierr, errmsg)
    integer(int32), pointer, intent(out) :: array(:)
    include "memory_alloc.inc"
  end subroutine

  subroutine alloc_int64(array, count, group, ierr, errmsg)
    integer(int64), pointer, intent(out) :: array(:)
    include "memory_alloc.inc"
  end subroutine

  subroutine alloc_real32(array, count, group, ierr, errmsg)
    real(real32), pointer, intent(out) :: array(:)
    include "memory_alloc.inc"
  end subroutine

  subroutine alloc_real64(array, count, group, ierr, errmsg)
    real(real64), pointer, intent(out) :: array(:)
    include "memory_alloc.inc"
  end subroutine

  subroutine alloc_complex32(array, count, group, ierr, errmsg)
    complex(real32), pointer, intent(out) :: array(:)
    include "memory_alloc.inc"
  end subroutine

  subroutine alloc_complex64(array, count, group, ierr, errmsg)
    complex(real64), pointer, intent(out) :: array(:)
    include "memory_alloc.inc"
  end subroutine

  subroutine alloc_bool(array, count, group, ierr, errmsg)
    logical(c_bool), pointer, intent(out) :: array(:)
    include "memory_alloc.inc"
  end subroutine

  subroutine free_int8(array, ierr, errmsg)
    integer(int8), pointer, intent(inout) :: array(:)
    include "memory_free.inc"
  end subroutine

  subroutine free_int16(array, ierr, errmsg)
    integer(int16), pointer, intent(inout) :: array(:)
    include "memory_free.inc"
  end subroutine

  subroutine free_int32(array, ierr, errmsg)
    integer(int32), pointer, intent(inout) :: array(:)
    include "memory_free.inc"
  end subroutine

  subroutine free_int64(array, ierr, errmsg)
    integer(int64), pointer, intent(inout) :: array(:)
    include "memory_free.inc"
  end subroutine

  subroutine free_real32(array, ierr, errmsg)
    real(real32), pointer, intent(inout) :: array(:)
    include "memory_free.inc"
  end subroutine

  subroutine free_real64(array, ierr, errmsg)
    real(real64), pointer, intent(inout) :: array(:)
    include "memory_free.inc"
  end subroutine

  subroutine free_complex32(array, ierr, errmsg)
    complex(real32), pointer, intent(inout) :: array(:)
    include "memory_free.inc"
  end subroutine

  subroutine free_complex64(array, ierr, errmsg)
    complex(real64), pointer, intent(inout) :: array(:)
    include "memory_free.inc"
  end subroutine

  subroutine free_bool(array, ierr, errmsg)
    logical(c_bool), pointer, intent(inout) :: array(:)
    include "memory_free.inc"
  end subroutine

  !> Where there is room for `count` elements of so many bits; NULL if there is none.
  function memory_for(count, bits, group, ierr, errmsg) result(memory)
    integer, intent(in) :: count, bits
    type(tutti_group), optional, intent(in) :: group
    integer, optional, intent(out) :: ierr
    character(*), optional, intent(inout) :: errmsg
    type(c_ptr) :: memory
    type(tutti_error) :: error
    integer(c_int32_t) :: status

    memory = c_null_ptr
    status = TUTTI_OK
    if (count < 0) call refuse(status, error, "count must be 0 or more")
    if (status == TUTTI_OK) &
      status = c_tutti_alloc(group_handle(group), int(count, c_size_t) * int(bits / 8, c_size_t), &
                             memory, error)
    call finish(status, error, ierr, errmsg)
  end function

  !> Whether memory could be given back.
  function is_freed(memory, ierr, errmsg)
    type(c_ptr), intent(in) :: memory
    integer, optional, intent(out) :: ierr
    character(*), optional, intent(inout) :: errmsg
    logical :: is_freed
    type(tutti_error) :: error
    integer(c_int32_t) :: status

    status = c_tutti_free(memory, error)
    is_freed = status == TUTTI_OK
    call finish(status, error, ierr, errmsg)
  end function
end module tutti_memory
