!> Keys and counters of a store, and other handles of it.
submodule(tutti_stores) store_keys
  use tutti_constants, only: tutti_error, tutti_store_options
  use tutti_base
  use tutti_functions
  implicit none
contains
  module procedure add_int64
    integer(c_int64_t) :: now
    type(tutti_error) :: error
    integer(c_int32_t) :: status

    now = 0
    status = c_tutti_store_add(self%handle, to_c(key), amount, now, error)
    if (present(value)) value = now
    call finish(status, error, ierr, errmsg)
  end procedure

  module procedure add_int32
    integer(c_int64_t) :: now
    type(tutti_error) :: error
    integer(c_int32_t) :: status

    now = 0
    status = c_tutti_store_add(self%handle, to_c(key), int(amount, c_int64_t), now, error)
    if (present(value)) call narrow(now, value, status, error)
    call finish(status, error, ierr, errmsg)
  end procedure

  module procedure multi_get
    type(text_list), target :: list
    integer(c_intptr_t), allocatable :: bytes(:)
    type(tutti_error) :: error
    integer(c_int32_t) :: status

    call list_texts(keys, list)
    allocate (bytes(size(keys)), source=0_c_intptr_t)
    status = c_tutti_store_multi_get(self%handle, list%addresses, size(keys, kind=c_int64_t), &
                                     waiting(timeout_ms), bytes, error)
    call take_texts(bytes, values)
    call finish(status, error, ierr, errmsg)
  end procedure

  module procedure multi_set
    type(text_list), target :: list, contents
    type(tutti_error) :: error
    integer(c_int32_t) :: status

    call list_texts(keys, list)
    call list_texts(values, contents)
    if (size(keys) /= size(values)) then
      call refuse(status, error, "values must be as many as keys")
    else
      status = c_tutti_store_multi_set( &
        self%handle, list%addresses, contents%addresses, int(len_trim(values), c_size_t), &
        size(keys, kind=c_int64_t), error)
    end if
    call finish(status, error, ierr, errmsg)
  end procedure

  module procedure list_keys
    integer(c_intptr_t) :: bytes
    integer(c_int64_t) :: count
    character(:), allocatable :: joined
    type(tutti_error) :: error
    integer(c_int32_t) :: status

    bytes = 0
    count = 0
    status = c_tutti_store_list_keys(self%handle, bytes, count, error)
    call take_text(bytes, joined)
    call cut_at_nul(joined, int(count), keys)
    call finish(status, error, ierr, errmsg)
  end procedure

  module procedure clone
    type(tutti_store_options) :: options
    type(tutti_error) :: error
    integer(c_int32_t) :: status

    options%timeout_ms = milliseconds(timeout_ms)
    status = c_tutti_store_clone(self%handle, options, store%handle, error)
    call finish(status, error, ierr, errmsg)
  end procedure

  !> The texts in one text that has a NUL behind each.
  subroutine cut_at_nul(joined, count, texts)
    character(*), intent(in) :: joined
    integer, intent(in) :: count
    type(tutti_text), allocatable, intent(out) :: texts(:)
    integer :: i, first, length

    allocate (texts(count))
    first = 1
    do i = 1, count
      length = index(joined(first:), c_null_char) - 1
      texts(i)%text = joined(first:first + length - 1)
      first = first + length + 1
    end do
  end subroutine
end submodule store_keys
