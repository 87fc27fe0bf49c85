!> Byte strings between ranks, of sizes that may differ freely: texts, which keep their trailing
!> blanks here, and arrays of integer(int8). What comes is a handle of bytes, read and released
!> once. With a `work` it stays in the work until tutti_work_take_bytes, and `bytes` must be absent.
module tutti_byte_strings
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int8, int64
  use tutti_constants, only: tutti_error, tutti_buffer, TUTTI_CPU, TUTTI_OK
  use tutti_arrays, only: bytes_in
  use tutti_base
  use tutti_functions
  use tutti_calls
  use tutti_groups, only: tutti_group
  use tutti_messages, only: tag_of
  use tutti_works, only: tutti_work
  implicit none
  private
  public :: tutti_bytes
  public :: tutti_broadcast_bytes, tutti_all_gather_bytes, tutti_gather_bytes, tutti_scatter_bytes
  public :: tutti_send_bytes, tutti_recv_bytes, tutti_work_take_bytes

  !> A handle of bytes that came: a value that may be copied, and is released once.
  type :: tutti_bytes
    integer(c_intptr_t) :: handle = 0
  contains
    procedure :: size => bytes_size
    procedure :: get, text
    procedure :: release
  end type
  !> tutti_broadcast_bytes(group_src, data, bytes, max_bytes, ...): every rank receives the bytes of
  !> the rank `group_src`, which alone gives `data`, and no `bytes`. No more than `max_bytes` may
  !> come; absent: 4 GiB.
  interface tutti_broadcast_bytes
    module procedure broadcast_text, broadcast_bytes
  end interface
  !> tutti_all_gather_bytes(data, bytes, max_bytes, ...): every rank receives bytes of every rank,
  !> in rank order.
  interface tutti_all_gather_bytes
    module procedure all_gather_text, all_gather_bytes
  end interface
  !> tutti_gather_bytes(data, group_dst, bytes, max_bytes, ...): the rank `group_dst` receives bytes
  !> of every rank; it alone gives `bytes`.
  interface tutti_gather_bytes
    module procedure gather_text, gather_bytes
  end interface
  !> tutti_send_bytes(data, group_dst, tag, ...): sends bytes to one rank, which receives them with
  !> tutti_recv_bytes and the same tag.
  interface tutti_send_bytes
    module procedure send_text, send_bytes
  end interface
contains
  !> How many bytes there are; 0 for an invalid handle.
  integer(int64) function bytes_size(self)
    class(tutti_bytes), intent(in) :: self
    bytes_size = int(c_tutti_bytes_size(self%handle), int64)
  end function

  !> The bytes; none for an invalid handle.
  function get(self) result(values)
    class(tutti_bytes), intent(in) :: self
    integer(int8), allocatable :: values(:)
    call copy_bytes(c_tutti_bytes_data(self%handle), c_tutti_bytes_size(self%handle), values)
  end function

  !> The bytes as a text.
  function text(self) result(value)
    class(tutti_bytes), intent(in) :: self
    character(c_tutti_bytes_size(self%handle)) :: value
    call fill_text(c_tutti_bytes_data(self%handle), value)
  end function

  !> Gives bytes back, or each of several. What was released, or never there, is passed over.
  impure elemental subroutine release(self)
    class(tutti_bytes), intent(inout) :: self
    call c_tutti_bytes_release(self%handle)
    self%handle = 0
  end subroutine

  subroutine broadcast_text(group_src, data, bytes, max_bytes, group, timeout_ms, options, work, &
                            ierr, errmsg)
    integer, intent(in) :: group_src
    character(*), target, asynchronous, intent(in) :: data
    type(tutti_bytes), optional, target, intent(inout) :: bytes
    integer(int64), optional, intent(in) :: max_bytes
    include "call.inc"

    call begin_call(this, group, timeout_ms, options, work)
    call broadcast(this, address_of(data), len(data, c_size_t), group_src, bytes, max_bytes)
    call end_call(this, work, ierr, errmsg)
  end subroutine

  subroutine broadcast_bytes(group_src, data, bytes, max_bytes, group, timeout_ms, options, work, &
                             ierr, errmsg)
    integer, intent(in) :: group_src
    integer(int8), optional, target, asynchronous, intent(in) :: data(:)
    type(tutti_bytes), optional, target, intent(inout) :: bytes
    integer(int64), optional, intent(in) :: max_bytes
    include "call.inc"
    type(argument), target :: in

    call begin_call(this, group, timeout_ms, options, work)
    call borrow(this, in, "data", data)
    call broadcast(this, in%array%buffer%data, bytes_in(in%array), group_src, bytes, max_bytes)
    call return_array(this, in, data, .false.)
    call end_call(this, work, ierr, errmsg)
  end subroutine

  subroutine broadcast(this, data, size, group_src, bytes, max_bytes)
    type(call_state), intent(inout) :: this
    type(c_ptr), intent(in) :: data
    integer(c_size_t), intent(in) :: size
    integer, intent(in) :: group_src
    type(tutti_bytes), optional, target, intent(inout) :: bytes
    integer(int64), optional, intent(in) :: max_bytes
    integer(c_intptr_t), pointer :: out

    nullify (out)
    if (present(bytes)) out => bytes%handle
    if (c_tutti_get_rank(this%group) /= group_src) call check_place(this, "bytes", present(bytes))
    if (this%status == TUTTI_OK) &
      this%status = c_tutti_broadcast_bytes(this%group, data, size, int(group_src, c_int32_t), &
                                            most(max_bytes), this%options, out, this%work, &
                                            this%error)
  end subroutine

  subroutine all_gather_text(data, bytes, max_bytes, group, timeout_ms, options, work, ierr, errmsg)
    character(*), target, asynchronous, intent(in) :: data
    type(tutti_bytes), optional, target, intent(inout) :: bytes(:)
    integer(int64), optional, intent(in) :: max_bytes
    include "call.inc"

    call begin_call(this, group, timeout_ms, options, work)
    call all_gather(this, address_of(data), len(data, c_size_t), bytes, max_bytes)
    call end_call(this, work, ierr, errmsg)
  end subroutine

  subroutine all_gather_bytes(data, bytes, max_bytes, group, timeout_ms, options, work, ierr, &
                              errmsg)
    integer(int8), target, asynchronous, intent(in) :: data(:)
    type(tutti_bytes), optional, target, intent(inout) :: bytes(:)
    integer(int64), optional, intent(in) :: max_bytes
    include "call.inc"
    type(argument), target :: in

    call begin_call(this, group, timeout_ms, options, work)
    call borrow(this, in, "data", data)
    call all_gather(this, in%array%buffer%data, bytes_in(in%array), bytes, max_bytes)
    call return_array(this, in, data, .false.)
    call end_call(this, work, ierr, errmsg)
  end subroutine

  subroutine all_gather(this, data, length, bytes, max_bytes)
    type(call_state), intent(inout) :: this
    type(c_ptr), intent(in) :: data
    integer(c_size_t), intent(in) :: length
    type(tutti_bytes), optional, target, intent(inout) :: bytes(:)
    integer(int64), optional, intent(in) :: max_bytes
    integer(c_intptr_t), pointer, contiguous :: out(:)
    integer(c_int64_t) :: count

    call room_for(this, bytes, out, count)
    call check_room(this, "bytes", present(bytes), count)
    if (this%status == TUTTI_OK) &
      this%status = c_tutti_all_gather_bytes(this%group, data, length, most(max_bytes), &
                                             this%options, out, count, this%work, this%error)
  end subroutine

  subroutine gather_text(data, group_dst, bytes, max_bytes, group, timeout_ms, options, work, &
                         ierr, errmsg)
    character(*), target, asynchronous, intent(in) :: data
    integer, intent(in) :: group_dst
    type(tutti_bytes), optional, target, intent(inout) :: bytes(:)
    integer(int64), optional, intent(in) :: max_bytes
    include "call.inc"

    call begin_call(this, group, timeout_ms, options, work)
    call gather(this, address_of(data), len(data, c_size_t), group_dst, bytes, max_bytes)
    call end_call(this, work, ierr, errmsg)
  end subroutine

  subroutine gather_bytes(data, group_dst, bytes, max_bytes, group, timeout_ms, options, work, &
                          ierr, errmsg)
    integer(int8), target, asynchronous, intent(in) :: data(:)
    integer, intent(in) :: group_dst
    type(tutti_bytes), optional, target, intent(inout) :: bytes(:)
    integer(int64), optional, intent(in) :: max_bytes
    include "call.inc"
    type(argument), target :: in

    call begin_call(this, group, timeout_ms, options, work)
    call borrow(this, in, "data", data)
    call gather(this, in%array%buffer%data, bytes_in(in%array), group_dst, bytes, max_bytes)
    call return_array(this, in, data, .false.)
    call end_call(this, work, ierr, errmsg)
  end subroutine

  subroutine gather(this, data, length, group_dst, bytes, max_bytes)
    type(call_state), intent(inout) :: this
    type(c_ptr), intent(in) :: data
    integer(c_size_t), intent(in) :: length
    integer, intent(in) :: group_dst
    type(tutti_bytes), optional, target, intent(inout) :: bytes(:)
    integer(int64), optional, intent(in) :: max_bytes
    integer(c_intptr_t), pointer, contiguous :: out(:)
    integer(c_int64_t) :: count

    call room_for(this, bytes, out, count)
    if (c_tutti_get_rank(this%group) == group_dst) &
      call check_room(this, "bytes", present(bytes), count)
    if (this%status == TUTTI_OK) &
      this%status = c_tutti_gather_bytes(this%group, data, length, int(group_dst, c_int32_t), &
                                         most(max_bytes), this%options, out, count, this%work, &
                                         this%error)
  end subroutine

  !> Every rank receives its bytes of those that the rank `group_src` has, which alone gives
  !> `pieces`, one buffer for each rank (tutti_buffer_of, tutti_pieces).
  subroutine tutti_scatter_bytes(bytes, group_src, pieces, max_bytes, group, timeout_ms, options, &
                                 work, ierr, errmsg)
    type(tutti_bytes), optional, target, intent(inout) :: bytes
    integer, intent(in) :: group_src
    type(tutti_buffer), optional, intent(in) :: pieces(:)
    integer(int64), optional, intent(in) :: max_bytes
    include "call.inc"
    type(c_ptr), allocatable :: data(:)
    integer(c_size_t), allocatable :: sizes(:)
    integer(c_int64_t) :: count
    integer(c_intptr_t), pointer :: out
    integer :: i

    call begin_call(this, group, timeout_ms, options, work)
    count = 0
    if (present(pieces)) then
      count = size(pieces, kind=c_int64_t)
      allocate (data(count), sizes(count))
      if (any(pieces%device_type /= TUTTI_CPU)) &
        call refuse(this%status, this%error, "pieces must be in the memory of the CPU")
      do i = 1, size(pieces)
        data(i) = pieces(i)%data
        sizes(i) = pieces(i)%count * c_tutti_dtype_size(pieces(i)%dtype)
      end do
    end if
    call room_for_one(this, bytes, out)
    if (this%status == TUTTI_OK) &
      this%status = c_tutti_scatter_bytes(this%group, data, sizes, count, &
                                          int(group_src, c_int32_t), most(max_bytes), &
                                          this%options, out, this%work, this%error)
    call end_call(this, work, ierr, errmsg)
  end subroutine

  subroutine send_text(data, group_dst, tag, group, timeout_ms, options, work, ierr, errmsg)
    character(*), target, asynchronous, intent(in) :: data
    integer, intent(in) :: group_dst
    integer, optional, intent(in) :: tag
    include "call.inc"

    call begin_call(this, group, timeout_ms, options, work)
    call send(this, address_of(data), len(data, c_size_t), group_dst, tag)
    call end_call(this, work, ierr, errmsg)
  end subroutine

  subroutine send_bytes(data, group_dst, tag, group, timeout_ms, options, work, ierr, errmsg)
    integer(int8), target, asynchronous, intent(in) :: data(:)
    integer, intent(in) :: group_dst
    integer, optional, intent(in) :: tag
    include "call.inc"
    type(argument), target :: in

    call begin_call(this, group, timeout_ms, options, work)
    call borrow(this, in, "data", data)
    call send(this, in%array%buffer%data, bytes_in(in%array), group_dst, tag)
    call return_array(this, in, data, .false.)
    call end_call(this, work, ierr, errmsg)
  end subroutine

  subroutine send(this, data, size, group_dst, tag)
    type(call_state), intent(inout) :: this
    type(c_ptr), intent(in) :: data
    integer(c_size_t), intent(in) :: size
    integer, intent(in) :: group_dst
    integer, optional, intent(in) :: tag

    if (this%status == TUTTI_OK) &
      this%status = c_tutti_send_bytes(this%group, data, size, int(group_dst, c_int32_t), &
                                       tag_of(tag), this%options, this%work, this%error)
  end subroutine

  !> Receives bytes that one rank, or with TUTTI_ANY_RANK any, sent with the same tag.
  subroutine tutti_recv_bytes(bytes, group_src, tag, max_bytes, group, out_group_src, timeout_ms, &
                              options, work, ierr, errmsg)
    type(tutti_bytes), optional, target, intent(inout) :: bytes
    integer, intent(in) :: group_src
    integer, optional, intent(in) :: tag
    integer(int64), optional, intent(in) :: max_bytes
    integer, optional, intent(out) :: out_group_src
    include "call.inc"
    integer(c_intptr_t), pointer :: out

    call begin_call(this, group, timeout_ms, options, work)
    if (present(out_group_src)) out_group_src = -1
    call room_for_one(this, bytes, out)
    if (this%status == TUTTI_OK) &
      this%status = c_tutti_recv_bytes(this%group, int(group_src, c_int32_t), tag_of(tag), &
                                       most(max_bytes), this%options, out, out_group_src, &
                                       this%work, this%error)
    call end_call(this, work, ierr, errmsg)
  end subroutine

  !> Where C writes bytes, and how many; NULL and 0 if they are absent.
  subroutine room_for(this, bytes, handles, count)
    type(call_state), intent(inout) :: this
    type(tutti_bytes), optional, target, intent(inout) :: bytes(:)
    integer(c_intptr_t), pointer, contiguous, intent(out) :: handles(:)
    integer(c_int64_t), intent(out) :: count

    nullify (handles)
    count = 0
    if (.not. present(bytes)) return
    call out_handles(this, "bytes", c_loc(bytes), size(bytes), is_contiguous(bytes), handles)
    count = size(handles, kind=c_int64_t)
  end subroutine

  !> Where C writes bytes; NULL if there is a work.
  subroutine room_for_one(this, bytes, handle)
    type(call_state), intent(inout) :: this
    type(tutti_bytes), optional, target, intent(inout) :: bytes
    integer(c_intptr_t), pointer, intent(out) :: handle

    nullify (handle)
    if (present(bytes)) handle => bytes%handle
    call check_place(this, "bytes", present(bytes))
  end subroutine

  !> Takes the bytes that an operation has received: those of every rank, or one. Once; what nobody
  !> takes is released with the work.
  subroutine tutti_work_take_bytes(work, bytes, ierr, errmsg)
    type(tutti_work), intent(in) :: work
    type(tutti_bytes), intent(inout) :: bytes(:)
    include "error.inc"
    integer(c_intptr_t) :: handles(size(bytes))

    handles = 0
    status = c_tutti_work_take_bytes(work%handle, handles, size(handles, kind=c_int64_t), error)
    if (status == TUTTI_OK) bytes%handle = handles
    call finish(status, error, ierr, errmsg)
  end subroutine

  !> Where the bytes of a text are; they are sent with its trailing blanks.
  type(c_ptr) function address_of(text)
    character(*), target, asynchronous, intent(in) :: text
    address_of = c_null_ptr
    if (len(text) > 0) address_of = c_loc(text(1:1))
  end function

  pure integer(c_int64_t) function most(max_bytes)
    integer(int64), optional, intent(in) :: max_bytes
    most = 0
    if (present(max_bytes)) most = max_bytes
  end function
end module tutti_byte_strings
