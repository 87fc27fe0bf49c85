!> Memory that the ranks of a host share: of every kind, of any size, used, and given back.
program memory_test
  use, intrinsic :: iso_c_binding, only: c_bool
  use, intrinsic :: iso_fortran_env
  use checks
  use tutti
  implicit none
  integer :: rank, ranks

  call tutti_init_process_group()
  rank = tutti_get_rank()
  ranks = tutti_get_world_size()
  call kinds()
  call sizes()
  call used()
  call freed()
  call refused()
  call outlives_its_group()
  call tutti_destroy_process_group()
  call passed()
contains
  subroutine kinds()
    integer(int8), pointer :: i8(:)
    integer(int16), pointer :: i16(:)
    integer(int32), pointer :: i32(:)
    integer(int64), pointer :: i64(:)
    real(real32), pointer :: r32(:)
    real(real64), pointer :: r64(:)
    complex(real32), pointer :: c32(:)
    complex(real64), pointer :: c64(:)
    logical(c_bool), pointer :: flags(:)

    call tutti_memory_alloc(i8, 5)
    call tutti_memory_alloc(i16, 5)
    call tutti_memory_alloc(i32, 5)
    call tutti_memory_alloc(i64, 5)
    call tutti_memory_alloc(r32, 5)
    call tutti_memory_alloc(r64, 5)
    call tutti_memory_alloc(c32, 5)
    call tutti_memory_alloc(c64, 5)
    call tutti_memory_alloc(flags, 5)
    call check([all(i8 == 0), all(i16 == 0), all(i32 == 0), all(i64 == 0)], "integers, zero")
    call check([all(abs(r32) <= 0), all(abs(r64) <= 0)], "reals, zero")
    call check([all(abs(c32) <= 0), all(abs(c64) <= 0)], "complex numbers, zero")
    call check(count(flags) == 0, "logicals, false")
    c64 = (1, 2)
    call tutti_all_reduce(c64)
    call check(all(nint(aimag(c64)) == 2 * ranks), "a sum of the widest")
    flags(5) = .true.
    call tutti_all_reduce(flags)
    call check(logical(flags(5) .and. .not. flags(4)), "of the narrowest")
    call tutti_memory_release(i8)
    call tutti_memory_release(i16)
    call tutti_memory_release(i32)
    call tutti_memory_release(i64)
    call tutti_memory_release(r32)
    call tutti_memory_release(r64)
    call tutti_memory_release(c32)
    call tutti_memory_release(c64)
    call tutti_memory_release(flags)
    call check(.not. (associated(i8) .or. associated(flags)), "given back")
  end subroutine

  !> As many as each rank wants, also none.
  subroutine sizes()
    integer, pointer :: some(:), none(:)
    integer :: total

    call tutti_memory_alloc(some, 1000 * rank)
    call tutti_memory_alloc(none, 0)
    call check(size(some) == 1000 * rank .and. size(none) == 0, "as many as were asked for")
    call check(associated(none), "memory of no elements is some, too")
    call tutti_all_reduce(none)
    some = 1
    total = sum(some)
    call tutti_all_reduce(total)
    call check(total == 500 * ranks * (ranks - 1), "each has its own")
    call tutti_memory_release(some)
    call tutti_memory_release(none)
  end subroutine

  !> In place, from parts of it, as a matrix, with a work, and for a group.
  subroutine used()
    real(real64), pointer :: values(:), matrix(:, :)
    type(tutti_group) :: group
    type(tutti_work) :: work

    call tutti_new_group(group)
    call tutti_memory_alloc(values, 60, group=group)
    matrix(1:10, 1:6) => values
    matrix(:, 1) = rank + 1
    call tutti_all_reduce(matrix(:, 2), input=matrix(:, 1), group=group)
    call check(nint(matrix(:, 2)) == ranks * (ranks + 1) / 2, "from one column to another")
    matrix(3, :) = 1
    call tutti_all_reduce(matrix(3, :), group=group)
    call check(nint(values(3::10)) == ranks, "a row, which is copied")
    values = rank
    call tutti_all_reduce(values, TUTTI_MAX, group=group, work=work)
    call work%wait()
    call work%release()
    call check(nint(values) == ranks - 1, "with a work")
    call tutti_all_reduce(values, TUTTI_MAX, group=group, work=work)
    call tutti_memory_release(values)
    call work%wait()
    call work%release()
    call check(.not. associated(values), "given back while an operation uses it, which goes on")
    call group%release()
  end subroutine

  subroutine freed()
    real, pointer :: values(:)
    integer :: status

    call tutti_memory_alloc(values, 10, timeout_ms=30000)
    call tutti_memory_release(values)
    call check(.not. associated(values), "nothing is left to be used")
    call tutti_all_reduce(values, ierr=status)
    call check_status(status, TUTTI_ERR_INVALID_ARGUMENT, "a call with what was given back")
    call tutti_memory_release(values)
  end subroutine

  subroutine refused()
    real, pointer :: values(:), part(:)
    real, target :: own(3)
    character(200) :: message
    integer :: status

    call tutti_memory_alloc(values, -1, ierr=status, errmsg=message)
    call check_message(message, "count must be 0 or more")
    call check(.not. associated(values), "no memory")
    call tutti_memory_alloc(values, 10)
    part => own
    call tutti_memory_release(part)
    own = 1
    call check(.not. associated(part), "memory of the program's own is passed over")
    call tutti_memory_release(values)
  end subroutine

  subroutine outlives_its_group()
    integer, pointer :: values(:)
    type(tutti_group) :: group

    call tutti_new_group(group)
    call tutti_memory_alloc(values, 10, group=group)
    values = 3
    call tutti_destroy_process_group(group)
    call group%release()
    call tutti_all_reduce(values)
    call check(values == 3 * ranks, "for another group it is as any other memory")
    call tutti_memory_release(values)
  end subroutine
end program memory_test
