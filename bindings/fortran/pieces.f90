!> Collectives in which every rank has a piece of its own. Lists of buffers, one for each rank in
!> rank order, are made by tutti_buffer_of or by tutti_pieces, and are read during the call; the
!> arrays they stand for are in use until it is done.
module tutti_piece_collectives
  use, intrinsic :: iso_c_binding
  use tutti_constants, only: tutti_buffer, TUTTI_OK
  use tutti_base
  use tutti_functions
  use tutti_calls
  use tutti_groups, only: tutti_group
  use tutti_reduce_ops, only: tutti_reduce_op, op_number
  use tutti_works, only: tutti_work
  implicit none
  private
  public :: tutti_all_gather, tutti_all_gather_into_tensor, tutti_gather, tutti_scatter
  public :: tutti_reduce_scatter, tutti_reduce_scatter_tensor
  public :: tutti_all_to_all, tutti_all_to_all_single

  !> Every rank gives every rank a buffer. `inputs` not given: `outputs` are also the inputs.
  interface tutti_all_to_all
    module procedure from_lists, in_place
  end interface

  !> Every rank gives every rank a piece of one array and receives the pieces in another one, in
  !> rank order. Split sizes are the elements of each piece, one for each rank; not given: equal
  !> pieces. `input` absent: taken from `output`.
  interface tutti_all_to_all_single
    module procedure equal_pieces, unequal_pieces, unequal_outputs, unequal_inputs
  end interface
contains
  !> Every rank receives every rank's input, which may differ in count. `input` absent: taken from
  !> this rank's output.
  wrap tutti_all_gather(outputs, [input])

  !> Every rank receives every rank's input, one after the other in one array. `input` absent: taken
  !> from this rank's place in `output`.
  wrap tutti_all_gather_into_tensor(inout output, [input])

  !> The rank `group_dst` receives every rank's input; it alone gives `outputs`. `input` absent,
  !> there: taken from its output.
  wrap tutti_gather([input], group_dst, [outputs])

  !> Every rank receives its piece of what the rank `group_src` has, which alone gives `inputs`.
  !> `output` absent, there: its piece stays where it is.
  wrap tutti_scatter([inout output], group_src, [inputs])

  !> Reduces the ranks' lists of inputs, buffer by buffer; each rank receives the result of the
  !> buffer that has its place in the list.
  wrap tutti_reduce_scatter(inout output, inputs, [op])

  !> Reduces all ranks' inputs, ranks times as many elements as `output` has, and leaves to each
  !> rank its part of the result.
  wrap tutti_reduce_scatter_tensor(inout output, input, [op])

  subroutine from_lists(outputs, inputs, group, timeout_ms, options, work, ierr, errmsg)
    type(tutti_buffer), intent(in) :: outputs(:), inputs(:)
    include "call.inc"
    type(tutti_buffer) :: given(max(1, size(inputs)))

    given(1:size(inputs)) = inputs  ! which has an address also if it is empty
    call begin_call(this, group, timeout_ms, options, work)
    this%status = c_tutti_all_to_all(this%group, given, size(inputs, kind=c_int64_t), outputs, &
                                     size(outputs, kind=c_int64_t), this%options, this%work, &
                                     this%error)
    call end_call(this, work, ierr, errmsg)
  end subroutine

  subroutine in_place(outputs, group, timeout_ms, options, work, ierr, errmsg)
    type(tutti_buffer), intent(in) :: outputs(:)
    include "call.inc"
    type(tutti_buffer), allocatable :: none(:)  ! absent for C

    call begin_call(this, group, timeout_ms, options, work)
    this%status = c_tutti_all_to_all(this%group, none, 0_c_int64_t, outputs, &
                                     size(outputs, kind=c_int64_t), this%options, this%work, &
                                     this%error)
    call end_call(this, work, ierr, errmsg)
  end subroutine

  subroutine equal_pieces(output, input, group, dtype, timeout_ms, options, work, ierr, errmsg)
    type(*), dimension(..), target, asynchronous, intent(inout) :: output
    type(*), dimension(..), optional, target, asynchronous, intent(in) :: input
    integer, optional, intent(in) :: dtype
    include "sizes.inc"
    call exchange(output, input, out_sizes, in_sizes, group, dtype, timeout_ms, options, work, &
                  ierr, errmsg)
  end subroutine

  subroutine unequal_pieces(output, input, output_split_sizes, input_split_sizes, group, dtype, &
                            timeout_ms, options, work, ierr, errmsg)
    type(*), dimension(..), target, asynchronous, intent(inout) :: output
    type(*), dimension(..), optional, target, asynchronous, intent(in) :: input
    integer, intent(in) :: output_split_sizes(:), input_split_sizes(:)
    integer, optional, intent(in) :: dtype
    include "sizes.inc"
    allocate (out_sizes, source=int(output_split_sizes, c_int64_t))
    allocate (in_sizes, source=int(input_split_sizes, c_int64_t))
    call exchange(output, input, out_sizes, in_sizes, group, dtype, timeout_ms, options, work, &
                  ierr, errmsg)
  end subroutine

  subroutine unequal_outputs(output, input, output_split_sizes, group, dtype, timeout_ms, options, &
                             work, ierr, errmsg)
    type(*), dimension(..), target, asynchronous, intent(inout) :: output
    type(*), dimension(..), optional, target, asynchronous, intent(in) :: input
    integer, intent(in) :: output_split_sizes(:)
    integer, optional, intent(in) :: dtype
    include "sizes.inc"
    allocate (out_sizes, source=int(output_split_sizes, c_int64_t))
    call exchange(output, input, out_sizes, in_sizes, group, dtype, timeout_ms, options, work, &
                  ierr, errmsg)
  end subroutine

  ! The sizes are last, so that they have to be named: else they could be the output's.
  subroutine unequal_inputs(output, input, group, dtype, timeout_ms, options, work, ierr, errmsg, &
                            input_split_sizes)
    type(*), dimension(..), target, asynchronous, intent(inout) :: output
    type(*), dimension(..), optional, target, asynchronous, intent(in) :: input
    integer, intent(in) :: input_split_sizes(:)
    integer, optional, intent(in) :: dtype
    include "sizes.inc"
    allocate (in_sizes, source=int(input_split_sizes, c_int64_t))
    call exchange(output, input, out_sizes, in_sizes, group, dtype, timeout_ms, options, work, &
                  ierr, errmsg)
  end subroutine

  !> The exchange itself; sizes that are not allocated are absent for C.
  subroutine exchange(output, input, out_sizes, in_sizes, group, dtype, timeout_ms, options, work, &
                      ierr, errmsg)
    type(*), dimension(..), target, asynchronous, intent(inout) :: output
    type(*), dimension(..), optional, target, asynchronous, intent(in) :: input
    integer(c_int64_t), allocatable, intent(in) :: out_sizes(:), in_sizes(:)
    integer, optional, intent(in) :: dtype
    include "call.inc"
    type(argument), target :: out, in

    call begin_call(this, group, timeout_ms, options, work)
    call borrow(this, out, "output", output, dtype)
    call borrow(this, in, "input", input, dtype)
    if (this%status == TUTTI_OK) &
      this%status = c_tutti_all_to_all_single(this%group, in%buffer, in_sizes, length(in_sizes), &
                                              out%buffer, out_sizes, length(out_sizes), &
                                              this%options, this%work, this%error)
    call return_array(this, out, output, .true.)
    call return_array(this, in, input, .false.)
    call end_call(this, work, ierr, errmsg)
  end subroutine

  pure integer(c_int64_t) function length(sizes)
    integer(c_int64_t), allocatable, intent(in) :: sizes(:)
    length = 0
    if (allocated(sizes)) length = size(sizes, kind=c_int64_t)
  end function

  pure integer(c_int64_t) function count_of(buffers)
    type(tutti_buffer), optional, intent(in) :: buffers(:)
    count_of = 0
    if (present(buffers)) count_of = size(buffers, kind=c_int64_t)
  end function
end module tutti_piece_collectives
