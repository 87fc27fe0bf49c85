!> Values of a store: texts, and bytes.
submodule(tutti_stores) store_values
  use tutti_constants, only: tutti_error
  use tutti_base
  use tutti_functions
  implicit none
contains
  module procedure set_text
    call put(c_tutti_store_set, self, key, bytes_of(value), ierr, errmsg)
  end procedure

  module procedure set_bytes
    call put(c_tutti_store_set, self, key, value, ierr, errmsg)
  end procedure

  module procedure append_text
    call put(c_tutti_store_append, self, key, bytes_of(value), ierr, errmsg)
  end procedure

  module procedure append_bytes
    call put(c_tutti_store_append, self, key, value, ierr, errmsg)
  end procedure

  module procedure push_text
    call put(c_tutti_store_queue_push, self, key, bytes_of(value), ierr, errmsg)
  end procedure

  module procedure push_bytes
    call put(c_tutti_store_queue_push, self, key, value, ierr, errmsg)
  end procedure

  module procedure pop_text
    integer(c_intptr_t) :: bytes

    call pop(self, key, bytes, block, timeout_ms, ierr, errmsg)
    call take_text(bytes, value)
  end procedure

  module procedure pop_bytes
    integer(c_intptr_t) :: bytes

    call pop(self, key, bytes, block, timeout_ms, ierr, errmsg)
    call take_bytes(bytes, value)
  end procedure

  module procedure compare_set_text
    integer(c_intptr_t) :: bytes

    call compare_set(self, key, bytes_of(expected), bytes_of(desired), bytes, ierr, errmsg)
    call take_text(bytes, value)
  end procedure

  module procedure compare_set_bytes
    integer(c_intptr_t) :: bytes

    call compare_set(self, key, expected, desired, bytes, ierr, errmsg)
    call take_bytes(bytes, value)
  end procedure

  !> Gives the store a value by one of C's functions, which all take the same.
  subroutine put(how, self, key, value, ierr, errmsg)
    procedure(c_tutti_store_set) :: how
    class(tutti_store), intent(in) :: self
    character(*), intent(in) :: key
    integer(int8), intent(in) :: value(:)
    include "error.inc"
    integer(int8), allocatable, target :: bytes(:)

    allocate (bytes, source=[value, 0_int8])
    status = how(self%handle, to_c(key), c_loc(bytes), size(value, kind=c_int64_t), error)
    call finish(status, error, ierr, errmsg)
  end subroutine

  subroutine pop(self, key, bytes, block, timeout_ms, ierr, errmsg)
    class(tutti_store), intent(in) :: self
    character(*), intent(in) :: key
    integer(c_intptr_t), intent(out) :: bytes
    logical, optional, intent(in) :: block
    integer, optional, intent(in) :: timeout_ms
    include "error.inc"
    integer(c_int32_t) :: may_wait

    bytes = 0
    may_wait = 1
    if (present(block)) may_wait = number(block)
    status = c_tutti_store_queue_pop(self%handle, to_c(key), may_wait, waiting(timeout_ms), &
                                     bytes, error)
    call finish(status, error, ierr, errmsg)
  end subroutine

  subroutine compare_set(self, key, expected, desired, bytes, ierr, errmsg)
    class(tutti_store), intent(in) :: self
    character(*), intent(in) :: key
    integer(int8), intent(in) :: expected(:), desired(:)
    integer(c_intptr_t), intent(out) :: bytes
    include "error.inc"
    integer(int8), allocatable, target :: before(:), after(:)

    bytes = 0
    allocate (before, source=[expected, 0_int8])
    allocate (after, source=[desired, 0_int8])
    status = c_tutti_store_compare_set( &
      self%handle, to_c(key), c_loc(before), size(expected, kind=c_int64_t), c_loc(after), &
      size(desired, kind=c_int64_t), bytes, error)
    call finish(status, error, ierr, errmsg)
  end subroutine

  !> The bytes of a text without its trailing blanks.
  pure function bytes_of(text) result(bytes)
    character(*), intent(in) :: text
    integer(int8), allocatable :: bytes(:)
    bytes = transfer(trim(text), [0_int8])
  end function
end submodule store_values
