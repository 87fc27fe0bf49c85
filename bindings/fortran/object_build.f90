!> Building an object.
submodule(tutti_objects) object_build
  use tutti_constants
  use tutti_base
  use tutti_functions
  use tutti_arrays, only: array_argument, open_array, close_array, end_array, array_extents, &
                          bytes_in
  implicit none
contains
  module procedure add
    type(tutti_error) :: error
    integer(c_int32_t) :: status

    status = TUTTI_OK
    select type (value)
    type is (character(*))
      status = c_tutti_object_add_string(self%handle, to_c(value), len_trim(value, c_size_t), error)
    type is (integer(int8))
      status = c_tutti_object_add_int64(self%handle, int(value, c_int64_t), error)
    type is (integer(int16))
      status = c_tutti_object_add_int64(self%handle, int(value, c_int64_t), error)
    type is (integer(int32))
      status = c_tutti_object_add_int64(self%handle, int(value, c_int64_t), error)
    type is (integer(int64))
      status = c_tutti_object_add_int64(self%handle, value, error)
    type is (real(real32))
      status = c_tutti_object_add_float64(self%handle, real(value, c_double), error)
    type is (real(real64))
      status = c_tutti_object_add_float64(self%handle, value, error)
    type is (logical)
      status = c_tutti_object_add_bool(self%handle, number(value), error)
    type is (logical(c_bool))
      status = c_tutti_object_add_bool(self%handle, number(logical(value)), error)
    type is (logical(int16))
      status = c_tutti_object_add_bool(self%handle, number(logical(value)), error)
    type is (logical(int64))
      status = c_tutti_object_add_bool(self%handle, number(logical(value)), error)
    class default
      call refuse(status, error, "value must be a logical, integer, real or character")
    end select
    call finish(status, error, ierr, errmsg)
  end procedure

  module procedure put_named
    integer :: status

    if (present(ierr)) then
      call self%add_key(key, status, errmsg)
      if (status == TUTTI_OK) call self%add(value, status, errmsg)
      ierr = status
    else
      call self%add_key(key)
      call self%add(value)
    end if
  end procedure

  module procedure put_numbered
    integer :: status

    if (present(ierr)) then
      call self%add(key, status, errmsg)
      if (status == TUTTI_OK) call self%add(value, status, errmsg)
      ierr = status
    else
      call self%add(key)
      call self%add(value)
    end if
  end procedure

  module procedure add_bytes
    type(array_argument) :: opened
    type(tutti_error) :: error
    integer(c_int32_t) :: status

    status = TUTTI_OK
    call open_array("data", data, may_copy=.true., opened=opened, status=status, error=error)
    if (status == TUTTI_OK) &
      status = c_tutti_object_add_bytes(self%handle, opened%buffer%data, bytes_in(opened), &
                                        0_c_int32_t, error)
    call close_array(data, .false., opened)
    call end_array(opened, status, error, ierr, errmsg)
  end procedure

  module procedure add_timestamp
    type(tutti_error) :: error
    integer(c_int32_t) :: status, after

    after = 0
    if (present(nanoseconds)) after = int(nanoseconds, c_int32_t)
    status = c_tutti_object_add_timestamp(self%handle, seconds, after, error)
    call finish(status, error, ierr, errmsg)
  end procedure

  module procedure add_array
    type(array_argument) :: opened
    integer(c_int64_t), allocatable :: extents(:)
    type(tutti_error) :: error
    integer(c_int32_t) :: status

    status = TUTTI_OK
    call open_array("array", array, dtype, .true., opened, status, error)
    call array_extents(array, extents)
    if (status == TUTTI_OK .and. product(extents) /= opened%buffer%count) &
      call refuse(status, error, "array has characters, which go into a list, or into bytes")
    if (status == TUTTI_OK) &
      status = c_tutti_object_add_array(self%handle, opened%buffer%data, opened%buffer%dtype, &
                                        extents, size(extents, kind=c_int32_t), 0_c_int32_t, error)
    call close_array(array, .false., opened)
    call end_array(opened, status, error, ierr, errmsg)
  end procedure

  module procedure add_elements
    type(array_argument) :: opened
    type(tutti_error) :: error
    integer(c_int32_t) :: status

    status = TUTTI_OK
    call open_array("array", array, dtype, .true., opened, status, error)
    if (status == TUTTI_OK) &
      status = c_tutti_object_add_elements(self%handle, opened%buffer%data, opened%buffer%count, &
                                           opened%buffer%dtype, error)
    call close_array(array, .false., opened)
    call end_array(opened, status, error, ierr, errmsg)
  end procedure

  module procedure add_items
    type(tutti_error) :: error
    integer(c_int32_t) :: status

    status = c_tutti_object_add_items(self%handle, items, size(items, kind=c_int64_t), &
                                      0_c_int32_t, error)
    call finish(status, error, ierr, errmsg)
  end procedure

  module procedure add_object
    type(tutti_error) :: error
    integer(c_int32_t) :: status

    status = c_tutti_object_add_object(self%handle, from%handle, node_or_all(node), error)
    call finish(status, error, ierr, errmsg)
  end procedure
end submodule object_build
