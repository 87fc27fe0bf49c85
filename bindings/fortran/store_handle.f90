!> A store itself: its timeout, its place, and other handles of it.
submodule(tutti_stores) store_handle
  use tutti_constants, only: tutti_error, tutti_store_options
  use tutti_base
  use tutti_functions
  implicit none
contains
  module procedure has_extended_api
    type(tutti_error) :: error
    integer(c_int32_t) :: status, flag

    flag = 0
    status = c_tutti_store_has_extended_api(self%handle, flag, error)
    has = flag /= 0
    call finish(status, error, ierr, errmsg)
  end procedure

  module procedure set_timeout
    type(tutti_error) :: error
    integer(c_int32_t) :: status

    status = c_tutti_store_set_timeout(self%handle, int(timeout_ms, c_int64_t), error)
    call finish(status, error, ierr, errmsg)
  end procedure

  module procedure get_timeout
    integer(c_int64_t) :: now
    type(tutti_error) :: error
    integer(c_int32_t) :: status

    now = 0
    status = c_tutti_store_get_timeout(self%handle, now, error)
    timeout_ms = int(min(now, int(huge(timeout_ms), c_int64_t)))
    call finish(status, error, ierr, errmsg)
  end procedure

  module procedure port
    type(tutti_error) :: error
    integer(c_int32_t) :: status, found

    found = 0
    status = c_tutti_tcp_store_port(self%handle, found, error)
    number = found
    call finish(status, error, ierr, errmsg)
  end procedure

  module procedure host
    integer(c_intptr_t) :: bytes
    type(tutti_error) :: error
    integer(c_int32_t) :: status

    bytes = 0
    status = c_tutti_tcp_store_host(self%handle, bytes, error)
    call take_text(bytes, name)
    call finish(status, error, ierr, errmsg)
  end procedure

  module procedure path
    integer(c_intptr_t) :: bytes
    type(tutti_error) :: error
    integer(c_int32_t) :: status

    bytes = 0
    status = c_tutti_file_store_path(self%handle, bytes, error)
    call take_text(bytes, name)
    call finish(status, error, ierr, errmsg)
  end procedure

  module procedure underlying_store
    type(tutti_error) :: error
    integer(c_int32_t) :: status

    status = c_tutti_prefix_store_underlying_store(self%handle, store%handle, error)
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

  module procedure flush
    type(tutti_error) :: error
    integer(c_int32_t) :: status

    status = c_tutti_store_flush(self%handle, waiting(timeout_ms), error)
    call finish(status, error, ierr, errmsg)
  end procedure

  module procedure interrupt
    type(tutti_error) :: error
    integer(c_int32_t) :: status

    status = c_tutti_store_interrupt(self%handle, error)
    call finish(status, error, ierr, errmsg)
  end procedure
end submodule store_handle
