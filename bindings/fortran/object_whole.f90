!> Calls on a whole object.
submodule(tutti_objects) object_whole
  use tutti_constants
  use tutti_base
  use tutti_functions
  implicit none
contains
  module procedure equal
    type(tutti_error) :: error
    integer(c_int32_t) :: status, flag

    flag = 0
    status = c_tutti_object_equal(self%handle, node_or_all(node), other%handle, &
                                  node_or_all(other_node), flag, error)
    same = flag /= 0
    call finish(status, error, ierr, errmsg)
  end procedure

  module procedure to_json
    integer(c_intptr_t) :: bytes
    integer(c_int32_t) :: spaces
    integer(c_int64_t) :: most
    type(tutti_error) :: error
    integer(c_int32_t) :: status

    spaces = 0
    if (present(indent)) spaces = int(indent, c_int32_t)
    most = 0
    if (present(limit)) most = int(limit, c_int64_t)
    bytes = 0
    status = c_tutti_object_to_json(self%handle, node_or_all(node), spaces, most, bytes, error)
    call take_text(bytes, json)
    call finish(status, error, ierr, errmsg)
  end procedure
end submodule object_whole
