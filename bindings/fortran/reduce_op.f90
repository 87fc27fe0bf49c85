!> Reduce ops: those of tutti, sums of inputs that each rank multiplies first, and procedures of the
!> caller.
module tutti_reduce_ops
  use, intrinsic :: iso_c_binding
  use tutti_constants, sum_number => TUTTI_SUM, avg_number => TUTTI_AVG, &
    product_number => TUTTI_PRODUCT, min_number => TUTTI_MIN, max_number => TUTTI_MAX, &
    band_number => TUTTI_BAND, bor_number => TUTTI_BOR, bxor_number => TUTTI_BXOR, &
    premul_sum_number => TUTTI_PREMUL_SUM
  use tutti_arrays, only: array_argument, open_array, close_array, end_array
  use tutti_base
  use tutti_functions, only: c_tutti_reduce_op_create_premul_sum, c_tutti_reduce_op_create_user, &
                     c_tutti_reduce_op_release
  implicit none
  private
  public :: tutti_reduce_op, op_number
  public :: tutti_reduce_op_create_premul_sum, tutti_reduce_op_create_user

  !> An op. What the functions below make is released once.
  type :: tutti_reduce_op
    integer(c_int32_t) :: number = -1
  contains
    procedure :: release
  end type

  !> logical: or
  type(tutti_reduce_op), parameter, public :: TUTTI_SUM = tutti_reduce_op(sum_number)
  !> real and complex: the sum, divided once by the number of ranks
  type(tutti_reduce_op), parameter, public :: TUTTI_AVG = tutti_reduce_op(avg_number)
  !> not complex; logical: and
  type(tutti_reduce_op), parameter, public :: TUTTI_PRODUCT = tutti_reduce_op(product_number)
  !> not complex; a NaN wins
  type(tutti_reduce_op), parameter, public :: TUTTI_MIN = tutti_reduce_op(min_number)
  !> not complex; a NaN wins
  type(tutti_reduce_op), parameter, public :: TUTTI_MAX = tutti_reduce_op(max_number)
  !> integer and logical
  type(tutti_reduce_op), parameter, public :: TUTTI_BAND = tutti_reduce_op(band_number)
  !> integer and logical
  type(tutti_reduce_op), parameter, public :: TUTTI_BOR = tutti_reduce_op(bor_number)
  !> integer and logical
  type(tutti_reduce_op), parameter, public :: TUTTI_BXOR = tutti_reduce_op(bxor_number)
  !> refused by itself: tutti_reduce_op_create_premul_sum makes one with its factor
  type(tutti_reduce_op), parameter, public :: TUTTI_PREMUL_SUM = tutti_reduce_op(premul_sum_number)
contains
  !> C's number of an op that may be absent, which then is TUTTI_SUM.
  pure integer(c_int32_t) function op_number(op)
    type(tutti_reduce_op), optional, intent(in) :: op
    op_number = sum_number
    if (present(op)) op_number = op%number
  end function

  !> Makes a sum of inputs that each rank multiplies by its factor, a scalar, which may differ
  !> between ranks.
  subroutine tutti_reduce_op_create_premul_sum(factor, op, dtype, ierr, errmsg)
    type(*), dimension(..), intent(in), target, asynchronous :: factor
    type(tutti_reduce_op), intent(out) :: op
    integer, optional, intent(in) :: dtype
    include "error.inc"
    type(array_argument) :: opened

    status = TUTTI_OK
    call open_array("factor", factor, dtype, .true., opened, status, error)
    if (status == TUTTI_OK) &
      status = c_tutti_reduce_op_create_premul_sum(opened%buffer, op%number, error)
    call close_array(factor, .false., opened)
    call end_array(opened, status, error, ierr, errmsg)
  end subroutine

  !> Makes an op of a bind(C) procedure that does inout(i) = in(i) op inout(i) for `count` elements,
  !> `in` being of the lower ranks, and returns TUTTI_OK. It must be associative, and may be called
  !> by several operations at once; `non_commutative`: results keep the order of the ranks. On
  !> failure it returns another status and may put a text into the error that it is given. `name`:
  !> the same on all ranks. `user` is passed to it as it is, and to `release_user` once the
  !> procedure can no longer be called: the op is released, and what was started with it is done.
  subroutine tutti_reduce_op_create_user(name, function, op, user, release_user, non_commutative, &
                                         ierr, errmsg)
    character(*), intent(in) :: name
    procedure(tutti_reduce_function) :: function
    type(tutti_reduce_op), intent(out) :: op
    type(c_ptr), optional, intent(in) :: user
    procedure(tutti_release_function), optional :: release_user
    logical, optional, intent(in) :: non_commutative
    include "error.inc"
    type(tutti_reduce_op_options) :: options
    type(c_funptr) :: release

    release = c_null_funptr
    if (present(release_user)) release = c_funloc(release_user)
    options%non_commutative = number(non_commutative)
    status = c_tutti_reduce_op_create_user(to_c(name), c_funloc(function), or_null(user), release, &
                                           options, op%number, error)
    call finish(status, error, ierr, errmsg)
  end subroutine

  !> Gives an op back, or each of several; operations that were started with it end as if it were
  !> still there. tutti's own ops, and what was released, are passed over.
  impure elemental subroutine release(self)
    class(tutti_reduce_op), intent(inout) :: self
    if (self%number >= sum_number .and. self%number <= premul_sum_number) return
    call c_tutti_reduce_op_release(self%number)
    self%number = -1
  end subroutine
end module tutti_reduce_ops
