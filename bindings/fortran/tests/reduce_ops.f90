!> Ops that callers make: sums with a factor, and bind(C) procedures.
module own_ops
  use, intrinsic :: iso_c_binding
  use tutti, only: TUTTI_OK, TUTTI_ERR_UNSUPPORTED, TUTTI_FLOAT64, TUTTI_INT32, tutti_error, &
                   tutti_set_error_message
  implicit none

  !> The fate of a procedure's `user`.
  type, bind(C) :: tally
    integer(c_int) :: calls = 0, releases = 0
  end type
contains
  !> The number of larger magnitude.
  function larger(in, inout, count, dtype, user, error) bind(C) result(status)
    type(c_ptr), value :: in, inout, user
    integer(c_int64_t), value :: count
    integer(c_int32_t), value :: dtype
    type(tutti_error), intent(inout) :: error
    integer(c_int32_t) :: status
    real(c_double), pointer :: a(:), b(:)
    type(tally), pointer :: noted

    call tutti_set_error_message(error, "only reals")
    status = TUTTI_ERR_UNSUPPORTED
    if (dtype /= TUTTI_FLOAT64) return
    call c_f_pointer(in, a, [count])
    call c_f_pointer(inout, b, [count])
    where (abs(a) > abs(b)) b = a
    call c_f_pointer(user, noted)
    noted%calls = noted%calls + 1
    status = TUTTI_OK
  end function

  !> Decimal digits one behind the other: not commutative.
  function join(in, inout, count, dtype, user, error) bind(C) result(status)
    type(c_ptr), value :: in, inout, user
    integer(c_int64_t), value :: count
    integer(c_int32_t), value :: dtype
    type(tutti_error), intent(inout) :: error
    integer(c_int32_t) :: status
    integer(c_int32_t), pointer :: a(:), b(:)
    integer :: i

    call tutti_set_error_message(error, "only integers")
    status = TUTTI_ERR_UNSUPPORTED
    if (dtype /= TUTTI_INT32 .or. c_associated(user)) return
    call c_f_pointer(in, a, [count])
    call c_f_pointer(inout, b, [count])
    do i = 1, int(count)
      b(i) = a(i) * 10**digits_of(b(i)) + b(i)
    end do
    status = TUTTI_OK
  end function

  pure integer function digits_of(number)
    integer(c_int32_t), intent(in) :: number
    digits_of = 1
    do while (number >= 10**digits_of)
      digits_of = digits_of + 1
    end do
  end function

  subroutine on_released(user) bind(C)
    type(c_ptr), value :: user
    type(tally), pointer :: noted
    call c_f_pointer(user, noted)
    noted%releases = noted%releases + 1
  end subroutine
end module own_ops

program reduce_ops_test
  use, intrinsic :: iso_c_binding
  use checks
  use own_ops
  use tutti
  implicit none
  integer :: rank, ranks

  call tutti_init_process_group()
  rank = tutti_get_rank()
  ranks = tutti_get_world_size()
  call factors()
  call procedures()
  call failures()
  call tutti_destroy_process_group()
  call passed()
contains
  subroutine factors()
    type(tutti_reduce_op) :: op
    real(c_double) :: x(2)
    integer :: n(2), i

    call tutti_reduce_op_create_premul_sum(real(rank + 1, c_double), op)
    x = 2
    call tutti_all_reduce(x, op)
    call check(all(nint(x) == ranks * (ranks + 1)), "a factor of its rank")
    call op%release()
    call tutti_reduce_op_create_premul_sum(3, op)
    n = rank
    call tutti_all_reduce(n, op)
    call check(all(n == 3 * sum([(i, i=0, ranks - 1)])), "an integer factor")
    call op%release()
  end subroutine

  subroutine procedures()
    type(tutti_reduce_op) :: op
    real(c_double), asynchronous :: x(5)
    type(tally), target, volatile :: noted
    integer :: digits, expected, i
    type(tutti_work) :: work

    call tutti_reduce_op_create_user("larger", larger, op, user=c_loc(noted), &
                                     release_user=on_released)
    x = (-1)**rank * (rank + 1)
    call tutti_all_reduce(x, op)
    call check(all(nint(x) == (-1)**(ranks - 1) * ranks), "the largest magnitude")
    x = (-1)**rank * (rank + 1)
    call tutti_all_reduce(x, op, work=work)
    call op%release()
    call work%wait()
    call work%release()
    call check(all(nint(x) == (-1)**(ranks - 1) * ranks), "and after the op's release")
    do while (noted%releases == 0)
    end do
    call tutti_barrier()
    call check(noted%releases == 1, "then it is no longer needed, which is told once")

    call tutti_reduce_op_create_user("join", join, op, non_commutative=.true.)
    digits = rank + 1
    call tutti_all_reduce(digits, op)
    expected = 0
    do i = 1, ranks
      expected = 10 * expected + i
    end do
    call check(digits == expected, "the order of the ranks")
    call op%release()
  end subroutine

  subroutine failures()
    type(tutti_reduce_op) :: op, known
    integer :: x, status
    real :: reals(2)
    character(200) :: message

    x = 1
    reals = 1
    call tutti_all_reduce(x, op, ierr=status)
    call check_status(status, TUTTI_ERR_INVALID_ARGUMENT, "an op that was never made")
    call tutti_all_reduce(x, TUTTI_PREMUL_SUM, ierr=status)
    call check_status(status, TUTTI_ERR_INVALID_ARGUMENT, "no factor")
    call tutti_reduce_op_create_user("", join, op, ierr=status)
    call check_status(status, TUTTI_ERR_INVALID_ARGUMENT, "an op without a name")
    if (ranks > 1) then
      call tutti_reduce_op_create_user("join", join, op)
      call tutti_all_reduce(reals, op, ierr=status, errmsg=message)
      call check_message(message, "only integers")
      call op%release()
    end if
    known = TUTTI_SUM
    call known%release()
    call check(known%number == TUTTI_SUM%number, "tutti's own ops stay")
  end subroutine
end program reduce_ops_test
