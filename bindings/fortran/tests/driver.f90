!> The driver of a device by its own functions, as the kernels of a program use it:
!> TUTTI_CUDA_LIBRARY has them.
module driver
  use, intrinsic :: iso_c_binding
  use checks
  use tutti, only: tutti_buffer
  implicit none
  abstract interface
    integer(c_int) function to_device(to, from, bytes) bind(C)
      import
      integer(c_int64_t), value :: to
      type(c_ptr), value :: from
      integer(c_size_t), value :: bytes
    end function
    integer(c_int) function to_host(to, from, bytes) bind(C)
      import
      type(c_ptr), value :: to
      integer(c_int64_t), value :: from
      integer(c_size_t), value :: bytes
    end function
    integer(c_int) function on_stream(to, from, bytes, stream) bind(C)
      import
      integer(c_int64_t), value :: to, from
      integer(c_size_t), value :: bytes
      type(c_ptr), value :: stream
    end function
    integer(c_int) function init(flags) bind(C)
      import
      integer(c_int), value :: flags
    end function
    integer(c_int) function retain(context, device) bind(C)
      import
      type(c_ptr), intent(out) :: context
      integer(c_int), value :: device
    end function
    integer(c_int) function create(stream, flags) bind(C)
      import
      type(c_ptr), intent(out) :: stream
      integer(c_int), value :: flags
    end function
    integer(c_int) function use_it(context) bind(C)
      import
      type(c_ptr), value :: context
    end function
  end interface
  procedure(to_device), pointer :: put
  procedure(to_host), pointer :: get
  procedure(on_stream), pointer :: copy
  procedure(init), pointer :: initialise
  procedure(retain), pointer :: retain_context
  procedure(create), pointer :: create_stream
  procedure(use_it), pointer :: wait_for, set_current
contains
  !> A function of the driver.
  function symbol(name) result(function)
    character(*), intent(in) :: name
    type(c_funptr) :: function
    character(1000) :: path
    type(c_ptr) :: library
    interface
      type(c_ptr) function dlopen(path, flags) bind(C)
        import
        character(kind=c_char), intent(in) :: path(*)
        integer(c_int), value :: flags
      end function
      type(c_funptr) function dlsym(library, name) bind(C)
        import
        type(c_ptr), value :: library
        character(kind=c_char), intent(in) :: name(*)
      end function
    end interface

    call get_environment_variable("TUTTI_CUDA_LIBRARY", path)
    library = dlopen(trim(path) // c_null_char, 2)
    call check(c_associated(library), "the driver")
    function = dlsym(library, name // c_null_char)
    call check(c_associated(function), name)
  end function

  subroutine load_driver()
    type(c_ptr) :: context
    call c_f_procpointer(symbol("cuInit"), initialise)
    call c_f_procpointer(symbol("cuMemcpyHtoD_v2"), put)
    call c_f_procpointer(symbol("cuMemcpyDtoH_v2"), get)
    call c_f_procpointer(symbol("cuMemcpyAsync"), copy)
    call c_f_procpointer(symbol("cuDevicePrimaryCtxRetain"), retain_context)
    call c_f_procpointer(symbol("cuCtxSetCurrent"), set_current)
    call c_f_procpointer(symbol("cuStreamCreate"), create_stream)
    call c_f_procpointer(symbol("cuStreamSynchronize"), wait_for)
    call check(initialise(0) == 0, "the driver begins")
    call check(retain_context(context, 0) == 0, "a context")
    call check(set_current(context) == 0, "the context is current")
  end subroutine

  !> Where a buffer begins, as the driver counts.
  pure integer(c_int64_t) function address_of(buffer)
    type(tutti_buffer), intent(in) :: buffer
    address_of = transfer(buffer%data, address_of)
  end function

  pure integer(c_size_t) function bytes_of(buffer)
    type(tutti_buffer), intent(in) :: buffer
    bytes_of = 4 * buffer%count
  end function

  subroutine fill(buffer, number)
    type(tutti_buffer), intent(in) :: buffer
    integer, intent(in) :: number
    real, target :: values(buffer%count)
    values = number
    call check(put(address_of(buffer), c_loc(values), bytes_of(buffer)) == 0, "to the device")
  end subroutine

  !> Checks that all elements of a buffer are a number once a stream has come so far.
  subroutine check_filled(buffer, number, stream, what)
    type(tutti_buffer), intent(in) :: buffer
    real, intent(in) :: number
    type(c_ptr), intent(in) :: stream
    character(*), intent(in) :: what
    real, target :: values(buffer%count)
    call check(wait_for(stream) == 0, "the stream has come so far")
    call check(get(c_loc(values), address_of(buffer), bytes_of(buffer)) == 0, "from the device")
    call check(abs(values - number) < 1e-6, what)
  end subroutine
end module driver
