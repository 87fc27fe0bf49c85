!> Arrays of every kind and every rank through one generic call: contiguous or not, of no elements,
!> and what is refused.
program arrays_test
  use, intrinsic :: iso_c_binding, only: c_bool
  use, intrinsic :: iso_fortran_env
  use checks
  use tutti
  implicit none
  integer :: rank, ranks, total

  call tutti_init_process_group()
  rank = tutti_get_rank()
  ranks = tutti_get_world_size()
  total = ranks * (ranks + 1) / 2
  call kinds()
  call logicals()
  call ranks_of_arrays()
  call sections()
  call sections_of_every_size()
  call texts()
  call named_dtypes()
  call refused()
  call coalesced()
  call tutti_destroy_process_group()
  call passed()
contains
  subroutine kinds()
    integer(int8) :: i8(5)
    integer(int16) :: i16(5)
    integer(int32) :: i32(5)
    integer(int64) :: i64(5)
    real(real32) :: r32(5)
    real(real64) :: r64(5)
    complex(real32) :: c32(5)
    complex(real64) :: c64(5)

    i8 = int(rank + 1, int8)
    i16 = int(rank + 1, int16)
    i32 = rank + 1
    i64 = (rank + 1) * 2_int64**40
    r32 = rank + 1
    r64 = rank + 1.5_real64
    c32 = cmplx(rank + 1, -rank - 1, real32)
    c64 = cmplx(rank + 1, 2, real64)
    call tutti_all_reduce(i8)
    call tutti_all_reduce(i16)
    call tutti_all_reduce(i32)
    call tutti_all_reduce(i64)
    call tutti_all_reduce(r32)
    call tutti_all_reduce(r64)
    call tutti_all_reduce(c32)
    call tutti_all_reduce(c64)
    call check(all(i8 == total), "integer(int8)")
    call check(all(i16 == total), "integer(int16)")
    call check(all(i32 == total), "integer(int32)")
    call check(all(i64 == total * 2_int64**40), "integer(int64)")
    call check(all(abs(r32 - total) < 0.001), "real(real32)")
    call check(all(abs(r64 - total - ranks * 0.5_real64) < 0.001), "real(real64)")
    call check(all(abs(c32 - cmplx(total, -total, real32)) < 0.001), "complex(real32)")
    call check(all(abs(c64 - cmplx(total, 2 * ranks, real64)) < 0.001), "complex(real64)")
  end subroutine

  !> SUM is or, PRODUCT is and; every kind comes back as proper logicals.
  subroutine logicals()
    logical(1) :: l1(2)
    logical(2) :: l2(2)
    logical(4) :: l4(2)
    logical(8) :: l8(2)
    logical :: mixed(7), expected(7)

    l1 = [rank == 0, .false.]
    l2 = l1
    l4 = l1
    l8 = l1
    call tutti_all_reduce(l1)
    call tutti_all_reduce(l2)
    call tutti_all_reduce(l4)
    call tutti_all_reduce(l8)
    call check(logical(l1(1) .and. .not. l1(2)), "logical(1)")
    call check(logical(l2(1) .and. .not. l2(2)), "logical(2)")
    call check(l4(1) .and. .not. l4(2), "logical(4)")
    call check(logical(l8(1) .and. .not. l8(2)), "logical(8)")
    call check(transfer(l4(1), 0) == transfer(.true., 0), "as the compiler has it")

    mixed = [.true., rank > 0, .true., .false., .true., rank == 0, .true.]
    expected = [.true., .false., .true., .false., .true., ranks == 1, .true.]
    call tutti_all_reduce(mixed(7:1:-1), TUTTI_PRODUCT)
    call check(all(mixed .eqv. expected), "logicals backwards")
  end subroutine

  subroutine ranks_of_arrays()
    real :: a0, a1(2), a2(2, 2), a3(2, 2, 2), a4(2, 2, 2, 2), a5(2, 2, 2, 2, 2)
    real :: a6(2, 2, 2, 2, 2, 2), a7(2, 2, 2, 2, 2, 2, 2)
    real, allocatable :: grown(:, :)
    real :: none(0), no_column(3, 0)

    a0 = 1; a1 = 1; a2 = 1; a3 = 1; a4 = 1; a5 = 1; a6 = 1; a7 = 1
    call tutti_all_reduce(a0)
    call tutti_all_reduce(a1)
    call tutti_all_reduce(a2)
    call tutti_all_reduce(a3)
    call tutti_all_reduce(a4)
    call tutti_all_reduce(a5)
    call tutti_all_reduce(a6)
    call tutti_all_reduce(a7)
    call check(nint(a0) == ranks, "a scalar")
    call check(all(nint(a1) == ranks) .and. all(nint(a2) == ranks), "ranks 1 and 2")
    call check(all(nint(a3) == ranks) .and. all(nint(a4) == ranks), "ranks 3 and 4")
    call check(all(nint(a5) == ranks) .and. all(nint(a6) == ranks), "ranks 5 and 6")
    call check(all(nint(a7) == ranks), "rank 7")
    allocate (grown(4, 3), source=1.0)
    call tutti_all_reduce(grown)
    call check(all(nint(grown) == ranks), "an allocatable array")
    call tutti_all_reduce(none)
    call tutti_all_reduce(no_column)
    call tutti_all_reduce(a1(2:1))
    call check(nint(a1(1)) == ranks, "arrays of no elements")
  end subroutine

  !> An array that is not contiguous is copied to and fro, and nothing beside it is touched.
  subroutine sections()
    integer :: a(4, 5), b(3, 3, 3), expected(4, 5), sums(2), i, j

    do j = 1, 5
      do i = 1, 4
        a(i, j) = 100 * i + j
      end do
    end do
    expected = a
    expected(2, :) = ranks * a(2, :)
    call tutti_all_reduce(a(2, :))
    call check(all(a == expected), "a row")
    expected(1:4:3, 5:1:-2) = ranks * a(1:4:3, 5:1:-2)
    call tutti_all_reduce(a(1:4:3, 5:1:-2))
    call check(all(a == expected), "steps in both dimensions, one backwards")
    b = 1
    call tutti_all_reduce(b(:, 2, ::2))
    call check(sum(b) == 21 + 6 * ranks, "a section of rank 2 of an array of rank 3")

    sums = 0
    call tutti_all_reduce(sums(2:1:-1), input=b(1, 1:3:2, 1))
    call check(all(sums == b(1, 1, 1) * ranks), "an input and an output that are copied")
    sums = 0
    call tutti_all_reduce(sums, input=[rank + 1, 2 * (rank + 1)])
    call check(sums(1) == total .and. sums(2) == 2 * total, "an expression as the input")
    call by_pieces(a, 4)
  end subroutine

  !> Every second element, and every element of all but the last row.
  subroutine sections_of_every_size()
    integer(int8) :: i8(5, 2)
    integer(int16) :: i16(5, 2)
    integer(int32) :: i32(5, 2)
    integer(int64) :: i64(5, 2)
    complex(real64) :: c64(5, 2)

    i8 = 1; i16 = 1; i32 = 1; i64 = 1; c64 = 1
    call tutti_all_reduce(i8(1:5:2, :))
    call tutti_all_reduce(i16(1:5:2, :))
    call tutti_all_reduce(i32(1:5:2, :))
    call tutti_all_reduce(i64(1:5:2, :))
    call tutti_all_reduce(c64(1:5:2, :))
    call check(i8(:, 2) == [ranks, 1, ranks, 1, ranks], "steps of one byte")
    call check(all(i16 == i8) .and. all(i32 == i8), "of two and four bytes")
    call check(all(i64 == i8) .and. all(nint(real(c64)) == i8), "of eight and sixteen bytes")
    i32 = 1
    call tutti_all_reduce(i32(1:4, :))
    call check(all(i32(1:4, :) == ranks) .and. all(i32(5, :) == 1), "whole runs")
  end subroutine

  !> An explicit shape from a caller, and a section of an assumed-size array.
  subroutine by_pieces(a, n)
    integer, intent(in) :: n
    integer, intent(inout) :: a(n, *)
    integer :: before

    before = a(1, 2)
    call tutti_all_reduce(a(:, 2:3))
    call check(a(1, 2) == before * ranks, "a section of an assumed-size array")
  end subroutine

  subroutine texts()
    character(5) :: words(2)

    words = "     "
    if (rank == 0) words = ["hello", "world"]
    call tutti_broadcast(words, 0)
    call check(words(1) == "hello" .and. words(2) == "world", "characters are bytes")
  end subroutine

  !> Bits that Fortran has no type for travel in integers of their size.
  subroutine named_dtypes()
    integer(int16) :: half(3)
    integer(int8) :: unsigned(1)
    logical :: flags(1000)
    character(3) :: words(2)

    half = int(z'3c00', int16)  ! 1.0 of float16
    call tutti_all_reduce(half, TUTTI_MAX, dtype=TUTTI_FLOAT16)
    call check(all(half == int(z'3c00', int16)), "float16")
    unsigned = -1  ! 255
    if (rank == 0) unsigned = 1
    call tutti_all_reduce(unsigned, TUTTI_MAX, dtype=TUTTI_UINT8)
    call check(unsigned(1) == merge(1, -1, ranks == 1), "uint8")
    flags = .true.
    call tutti_all_reduce(flags, TUTTI_MAX, dtype=TUTTI_INT32)
    call check(flags, "logicals as the integers of their size")
    flags(2) = rank /= 0
    call tutti_all_reduce(flags, TUTTI_PRODUCT, dtype=TUTTI_BOOL)
    call check(count(flags) == 999, "logicals by the name of their own dtype")
    words = "   "
    if (rank == 0) words = ["one", "two"]
    call tutti_broadcast(words, 0, dtype=TUTTI_UINT8)
    call check(words(1) == "one" .and. words(2) == "two", "characters by theirs")
  end subroutine

  subroutine refused()
    type :: pair
      integer :: a = 0, b = 0
    end type
    type(pair) :: pairs(2)
    real(real128) :: wide
    real :: x(4)
    logical :: flags(2)
    type(tutti_work) :: work
    real, allocatable :: nothing(:)
    integer :: status
    character(200) :: message

    x = 0; wide = 0; flags = .false.
    call tutti_all_reduce(pairs, ierr=status, errmsg=message)
    call check_status(status, TUTTI_ERR_INVALID_ARGUMENT, "a derived type")
    call check_message(message, "output has a type")
    call tutti_all_reduce(wide, ierr=status, errmsg=message)
    call check_message(message, "output has a type")
    call tutti_all_reduce(x(1:4:2), work=work, ierr=status, errmsg=message)
    call check_message(message, "output is not contiguous")
    call tutti_all_reduce(x, input=x(4:1:-1), work=work, ierr=status, errmsg=message)
    call check_message(message, "input is not contiguous")
    call tutti_all_reduce(flags, work=work, ierr=status, errmsg=message)
    call check_message(message, "output has logicals of more than one byte")
    call check(work%handle == 0, "no work was started")
    call tutti_all_reduce(x, dtype=TUTTI_FLOAT64, ierr=status, errmsg=message)
    call check_message(message, "dtype has elements of 8 bytes")
    call tutti_all_reduce(x, dtype=77, ierr=status, errmsg=message)
    call check_message(message, "dtype is 77")
    call tutti_all_reduce(x, dtype=-1, ierr=status, errmsg=message)
    call check_message(message, "dtype is negative")
    call tutti_all_reduce(x, input=x(1:2), ierr=status, errmsg=message)
    call check_message(message, "input")
    call tutti_all_reduce(x, TUTTI_BAND, ierr=status, errmsg=message)
    call check_status(status, TUTTI_ERR_INVALID_ARGUMENT, "an op that reals do not have")
    call refused_texts()
    allocate (nothing(2))
    deallocate (nothing)
    call unallocated(nothing)
  end subroutine

  !> Arguments that the compiler does not describe well; the message of such a call is in
  !> tutti_last_error.
  subroutine refused_texts()
    character(4) :: text
    real(real128) :: wide
    character(300) :: long(2)
    character(2) :: short
    real :: x
    integer :: status

    text = "text"
    long = "long"
    short = "--"
    x = 0
    call tutti_broadcast(text(2:3), 0, ierr=status, errmsg=short)
    call check_message(tutti_error_message(tutti_last_error()), "buffer is a single character")
    call tutti_all_reduce(x, input="abc", ierr=status, errmsg=short)
    call check_message(tutti_error_message(tutti_last_error()), "input is a single character")
    call tutti_all_reduce(long, TUTTI_AVG, ierr=status, errmsg=short)
    call check(status /= TUTTI_OK .and. short == "--", "no byte is written")
    wide = 0
    call tutti_all_reduce(wide, input="abc", ierr=status, errmsg=short)
    call check(status /= TUTTI_OK .and. short == "--", "nor if another argument is at fault")
  end subroutine

  subroutine unallocated(nothing)
    real, allocatable, intent(inout) :: nothing(:)
    real :: x(3)

    x = 1
    call tutti_all_reduce(x, input=nothing)
    call check(all(nint(x) == ranks), "an allocatable that is not allocated is absent")
  end subroutine

  !> The calls of a coalescing keep their arrays until its end, so a copy would be gone by then. The
  !> group itself works as ever meanwhile.
  subroutine coalesced()
    type(tutti_group) :: group, coalescing, dropped
    type(tutti_work) :: work
    integer :: x(6), y(2), status
    logical(c_bool) :: flag(1)
    character(200) :: message

    call tutti_new_group(group)
    x = 1
    y = rank
    flag = .true.
    call tutti_coalescing_begin(coalescing, group)
    call check(tutti_get_world_size(coalescing) == ranks, "a coalescing has the group's ranks")
    call tutti_all_reduce(x(1:2), group=coalescing)
    call tutti_all_reduce(flag, TUTTI_PRODUCT, group=coalescing)
    call tutti_all_reduce(x(1:6:2), group=coalescing, ierr=status, errmsg=message)
    call check_message(message, "output")
    call tutti_all_reduce(y, input=x(6:1:-3), group=coalescing, ierr=status, errmsg=message)
    call check_message(message, "input")
    call tutti_all_reduce(y, group=coalescing, work=work, ierr=status)
    call check_status(status, TUTTI_ERR_INVALID_ARGUMENT, "a work for one call of several")
    call tutti_all_reduce(x(3:6:2), group=group)
    call check(all(x == [1, 1, ranks, 1, ranks, 1]), "calls on the group itself are done at once")
    if (rank == 0 .and. ranks > 1) call tutti_send(x(1:6:2), 1, group=group)
    if (rank == 1) call tutti_recv(x(2:6:2), 0, group=group)
    call tutti_coalescing_end(coalescing)
    call check(x(1) == ranks .and. flag(1), "the calls of the coalescing are done at its end")
    call check(all(y == rank), "what was refused is not done")
    call tutti_coalescing_end(coalescing, ierr=status)
    call check_status(status, TUTTI_ERR_INVALID_HANDLE, "a coalescing ends once")

    call tutti_coalescing_begin(dropped, options=tutti_coalescing_options(device_type=TUTTI_XPU), &
                                ierr=status, errmsg=message)
    call check_message(message, "device")
    call tutti_coalescing_begin(dropped)
    call tutti_all_reduce(y, group=dropped)
    call dropped%release()
    call check(all(y == rank), "a coalescing that is released is not done")
    call group%release()
  end subroutine
end program arrays_test
