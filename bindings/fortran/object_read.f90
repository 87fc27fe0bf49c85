!> Reading an object.
submodule(tutti_objects) object_read
  use tutti_constants
  use tutti_base
  use tutti_functions
  use tutti_arrays, only: array_argument, open_array, close_array, note_text, end_array, &
                          fill_array
  implicit none
contains
  module procedure kind_of
    type(tutti_object_item) :: item
    logical :: found

    call look(self, node, item, found)
    kind_of = -1
    if (found) kind_of = item%kind
  end procedure

  module procedure length
    type(tutti_object_item) :: item
    logical :: found

    call look(self, node, item, found)
    count = -1
    if (found) count = item%size
  end procedure

  module procedure next
    type(tutti_object_item) :: item
    logical :: found

    call look(self, node, item, found)
    behind = -1
    if (found) behind = item%end
  end procedure

  module procedure find_named
    integer(c_int32_t) :: status

    found = -1
    status = c_tutti_object_find(self%handle, node_or_all(node), to_c(key), found)
  end procedure

  module procedure find_numbered
    type(tutti_object_item) :: item
    integer(c_int32_t) :: status

    found = -1
    item%kind = TUTTI_OBJECT_INT64
    item%integer = key
    status = c_tutti_object_find_item(self%handle, node_or_all(node), item, found)
  end procedure

  module procedure at
    integer(c_int32_t) :: status

    found = -1
    status = c_tutti_object_at(self%handle, node_or_all(node), int(index - 1, c_int64_t), found)
  end procedure

  module procedure get_int32
    integer(c_int64_t) :: wide
    type(tutti_error) :: error
    integer(c_int32_t) :: status

    wide = 0
    status = c_tutti_object_get_int64(self%handle, node_or_all(node), wide, error)
    call narrow(wide, value, status, error)
    call finish(status, error, ierr, errmsg)
  end procedure

  module procedure get_real32
    real(c_double) :: wide
    type(tutti_error) :: error
    integer(c_int32_t) :: status

    wide = 0
    status = c_tutti_object_get_float64(self%handle, node_or_all(node), wide, error)
    if (abs(wide) > huge(value) .and. abs(wide) <= huge(wide)) then
      call refuse(status, error, "value has too small a range for the number: use real(real64)")
      wide = 0
    end if
    value = real(wide, real32)
    call finish(status, error, ierr, errmsg)
  end procedure

  module procedure get_text
    type(c_ptr) :: text
    integer(c_size_t) :: count
    type(tutti_error) :: error
    integer(c_int32_t) :: status

    text = c_null_ptr
    count = 0
    status = c_tutti_object_get_string(self%handle, node_or_all(node), text, count, error)
    call copy_text(text, count, value)
    call finish(status, error, ierr, errmsg)
  end procedure

  module procedure get_bytes
    type(c_ptr) :: data
    integer(c_size_t) :: count
    type(tutti_error) :: error
    integer(c_int32_t) :: status

    data = c_null_ptr
    count = 0
    status = c_tutti_object_get_bytes(self%handle, node_or_all(node), data, count, error)
    call copy_bytes(data, count, value)
    call finish(status, error, ierr, errmsg)
  end procedure

  module procedure array_shape
    type(tutti_object_item) :: item
    type(c_ptr) :: data
    integer(c_int64_t), pointer :: there(:)
    type(tutti_error) :: error
    integer(c_int32_t) :: status

    status = c_tutti_object_get_array(self%handle, node_or_all(node), data, item%dtype, &
                                      item%shape, item%dimensions, error)
    dtype = item%dtype
    allocate (extents(item%dimensions))
    if (item%dimensions > 0) then
      call c_f_pointer(item%shape, there, [item%dimensions])
      extents = there(item%dimensions:1:-1)
    end if
    call finish(status, error, ierr, errmsg)
  end procedure

  module procedure get_array
    type(tutti_object_item) :: item
    type(array_argument) :: opened
    type(c_ptr) :: data
    type(tutti_error) :: error
    integer(c_int32_t) :: status

    status = c_tutti_object_get_array(self%handle, node_or_all(node), data, item%dtype, &
                                      item%shape, item%dimensions, error)
    call note_text(array, opened)
    if (status == TUTTI_OK) &
      call fill_array("array", array, data, item%dtype, item%shape, item%dimensions, status, error)
    call end_array(opened, status, error, ierr, errmsg)
  end procedure

  module procedure get_elements
    type(array_argument) :: opened
    integer(c_int64_t) :: place
    type(tutti_error) :: error
    integer(c_int32_t) :: status

    place = 0
    if (present(first)) place = first - 1
    status = TUTTI_OK
    call open_array("array", array, dtype, .true., opened, status, error)
    if (status == TUTTI_OK) &
      status = c_tutti_object_get_elements(self%handle, node_or_all(node), &
                                           opened%buffer%data, opened%buffer%count, &
                                           opened%buffer%dtype, place, error)
    call close_array(array, status == TUTTI_OK, opened)
    call end_array(opened, status, error, ierr, errmsg)
  end procedure

  module procedure read
    integer(c_int64_t) :: found
    type(tutti_error) :: error
    integer(c_int32_t) :: status

    found = 0
    status = c_tutti_object_read(self%handle, node_or_all(first), items, &
                                 size(items, kind=c_int64_t), found, error)
    count = int(found)
    call finish(status, error, ierr, errmsg)
  end procedure

  !> One value, if there is such a node.
  subroutine look(self, node, item, found)
    class(tutti_object), intent(in) :: self
    integer(int64), optional, intent(in) :: node
    type(tutti_object_item), intent(out) :: item
    logical, intent(out) :: found
    type(tutti_object_item) :: items(1)
    integer(c_int64_t) :: count
    integer(c_int32_t) :: status

    count = 0
    status = c_tutti_object_read(self%handle, node_or_all(node), items, 1_c_int64_t, count)
    found = status == TUTTI_OK .and. count == 1
    if (found) item = items(1)
  end subroutine
end submodule object_read
