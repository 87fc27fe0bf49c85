!> Making objects: empty ones to build, and those that a message holds.
module tutti_object_creation
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int8
  use tutti_constants, only: tutti_error, tutti_object_options
  use tutti_base, only: finish
  use tutti_functions, only: c_tutti_object_create, c_tutti_object_decode
  use tutti_objects, only: tutti_object
  implicit none
  private
  public :: tutti_object_create, tutti_object_decode
contains
  !> Makes an object that waits for its value.
  subroutine tutti_object_create(object, ierr, errmsg)
    type(tutti_object), intent(out) :: object
    include "error.inc"

    status = c_tutti_object_create(object%handle, error)
    call finish(status, error, ierr, errmsg)
  end subroutine

  !> Reads a value from MessagePack, compressed or not. Any bytes may come: what is no value is an
  !> error.
  subroutine tutti_object_decode(message, object, options, ierr, errmsg)
    integer(int8), intent(in) :: message(:)
    type(tutti_object), intent(out) :: object
    type(tutti_object_options), optional, intent(in) :: options
    include "error.inc"
    integer(int8), allocatable, target :: bytes(:)
    type(tutti_object_options) :: copying

    if (present(options)) copying = options
    copying%flags = 0  ! the message is the caller's, who may change it
    allocate (bytes, source=[message, 0_int8])
    status = c_tutti_object_decode(c_loc(bytes), size(message, kind=c_int64_t), copying, &
                                   object%handle, error)
    call finish(status, error, ierr, errmsg)
  end subroutine
end module tutti_object_creation
