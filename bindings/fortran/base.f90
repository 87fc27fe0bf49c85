!> The ground of all parts of the binding: how a call ends, and how texts go to C and come back.
module tutti_base
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int8, int32
  use tutti_constants, only: tutti_error, tutti_store_call_options, TUTTI_OK, &
                             TUTTI_ERR_INVALID_ARGUMENT
  use tutti_functions, only: c_tutti_status_name, c_tutti_bytes_data, c_tutti_bytes_size, &
                     c_tutti_bytes_release
  implicit none
  private
  public :: finish, refuse, to_c, from_c, text_length, name_or_null, number, narrow
  public :: milliseconds, waiting
  public :: node_or_all
  public :: or_null, fill_text, copy_text, copy_bytes, take_text, take_bytes, take_texts
  public :: text_list, list_texts
  public :: tutti_status_name, tutti_last_error, tutti_error_message, tutti_set_error_message
  public :: tutti_c_string

  !> For a timeout: none.
  integer, parameter, public :: TUTTI_NO_TIMEOUT = -1
  !> For a timeout: that of the group or the store.
  integer, parameter, public :: TUTTI_DEFAULT_TIMEOUT = 0

  !> One of several texts that differ in length.
  type, public :: tutti_text
    character(:), allocatable :: text
  end type

  !> Texts as C takes several of them. It must not move while its addresses are in use.
  type :: text_list
    character(:, kind=c_char), allocatable :: texts(:)
    type(c_ptr), allocatable :: addresses(:)
  end type

  interface
    subroutine note(error) bind(C, name="tutti_fortran_note")
      import :: tutti_error
      type(tutti_error), intent(in) :: error
    end subroutine

    subroutine noted(error) bind(C, name="tutti_fortran_noted")
      import :: tutti_error
      type(tutti_error), intent(out) :: error
    end subroutine

    pure integer(c_size_t) function strlen(text) bind(C)
      import :: c_size_t, c_ptr
      type(c_ptr), value :: text
    end function
  end interface
contains
  !> Ends a call: tells how it went, or stops the program if nobody asks and it failed.
  subroutine finish(status, error, ierr, errmsg)
    integer(c_int32_t), intent(in) :: status
    type(tutti_error), intent(inout) :: error
    integer, optional, intent(out) :: ierr
    character(*), optional, intent(inout) :: errmsg
    character(:), allocatable :: why

    if (present(ierr)) ierr = status
    if (status == TUTTI_OK) return
    error%status = status
    call note(error)
    if (present(errmsg)) errmsg = tutti_error_message(error)
    if (present(ierr)) return
    why = "tutti: " // tutti_status_name(int(status)) // ": " // tutti_error_message(error)
    error stop why
  end subroutine

  !> Puts a message into the error that a procedure of the caller's was given, to tell how it
  !> failed; what does not fit is cut off.
  pure subroutine tutti_set_error_message(error, message)
    type(tutti_error), intent(inout) :: error
    character(*), intent(in) :: message
    integer :: i

    error%message = c_null_char
    do i = 1, min(len(message), size(error%message) - 1)
      error%message(i) = message(i:i)
    end do
  end subroutine

  !> Notes that an argument is refused by the binding itself.
  subroutine refuse(status, error, message)
    integer(c_int32_t), intent(out) :: status
    type(tutti_error), intent(inout) :: error
    character(*), intent(in) :: message

    status = TUTTI_ERR_INVALID_ARGUMENT
    call tutti_set_error_message(error, message)
  end subroutine

  ! No function here has a result whose length is deferred, `character(:), allocatable`: gfortran
  ! keeps that length in memory which all threads of a program share. It is always an expression.

  !> The message of a failure: operation, group, rank and cause.
  pure function tutti_error_message(error) result(text)
    type(tutti_error), intent(in) :: error
    character(message_length(error)) :: text
    integer :: i

    do i = 1, len(text)
      text(i:i) = error%message(i)
    end do
  end function

  pure integer function message_length(error) result(length)
    type(tutti_error), intent(in) :: error

    length = 0
    do while (length < size(error%message))
      if (error%message(length + 1) == c_null_char) exit
      length = length + 1
    end do
  end function

  !> The name of a status, for instance "TUTTI_ERR_TIMEOUT".
  function tutti_status_name(status) result(name)
    integer, intent(in) :: status
    character(text_length(c_tutti_status_name(int(status, c_int32_t)))) :: name
    name = from_c(c_tutti_status_name(int(status, c_int32_t)))
  end function

  !> The last failure of a call of this thread: status, the group rank at fault or
  !> -1, the errno behind it or 0, and the message.
  function tutti_last_error() result(error)
    type(tutti_error) :: error
    call noted(error)
  end function

  !> C's options of a store's call that may wait; absent: for the store's timeout.
  pure function waiting(timeout_ms) result(options)
    integer, optional, intent(in) :: timeout_ms
    type(tutti_store_call_options) :: options
    options%timeout_ms = milliseconds(timeout_ms)
  end function

  !> A text as C has it: without its trailing blanks, and with a NUL.
  pure function to_c(text) result(c_text)
    character(*), intent(in) :: text
    character(len_trim(text) + 1, kind=c_char) :: c_text
    c_text = trim(text) // c_null_char
  end function

  !> The same of a name that may be absent, which then is C's NULL.
  pure subroutine name_or_null(text, c_text)
    character(*), optional, intent(in) :: text
    character(:, kind=c_char), allocatable, intent(out) :: c_text
    if (present(text)) c_text = to_c(text)
  end subroutine

  !> C's text as one of Fortran; empty if it is NULL.
  function from_c(address) result(text)
    type(c_ptr), intent(in) :: address
    character(text_length(address)) :: text
    call fill_text(address, text)
  end function

  !> How long C's text is; 0 if it is NULL.
  pure integer(c_size_t) function text_length(address) result(length)
    type(c_ptr), intent(in) :: address
    length = 0
    if (c_associated(address)) length = strlen(address)
  end function

  !> The text at an address that a callback was given; empty if it is NULL.
  function tutti_c_string(address) result(text)
    type(c_ptr), intent(in) :: address
    character(text_length(address)) :: text
    text = from_c(address)
  end function

  subroutine copy_text(address, length, text)
    type(c_ptr), intent(in) :: address
    integer(c_size_t), intent(in) :: length
    character(:), allocatable, intent(out) :: text

    allocate (character(length) :: text)
    call fill_text(address, text)
  end subroutine

  !> Fills a text with as many bytes.
  subroutine fill_text(address, text)
    type(c_ptr), intent(in) :: address
    character(*), intent(inout) :: text
    character(kind=c_char), pointer :: bytes(:)
    integer :: i

    if (len(text) == 0) return
    call c_f_pointer(address, bytes, [len(text)])
    do i = 1, len(text)
      text(i:i) = bytes(i)
    end do
  end subroutine

  subroutine copy_bytes(address, length, values)
    type(c_ptr), intent(in) :: address
    integer(c_size_t), intent(in) :: length
    integer(int8), allocatable, intent(out) :: values(:)
    integer(int8), pointer :: there(:)

    allocate (values(length))
    if (length == 0) return
    call c_f_pointer(address, there, [length])
    values = there
  end subroutine

  !> The text in bytes that C returned, which are given back.
  subroutine take_text(bytes, text)
    integer(c_intptr_t), value :: bytes
    character(:), allocatable, intent(out) :: text
    call copy_text(c_tutti_bytes_data(bytes), c_tutti_bytes_size(bytes), text)
    call c_tutti_bytes_release(bytes)
  end subroutine

  subroutine take_bytes(bytes, values)
    integer(c_intptr_t), value :: bytes
    integer(int8), allocatable, intent(out) :: values(:)
    call copy_bytes(c_tutti_bytes_data(bytes), c_tutti_bytes_size(bytes), values)
    call c_tutti_bytes_release(bytes)
  end subroutine

  !> The texts in several bytes, which are given back.
  subroutine take_texts(bytes, texts)
    integer(c_intptr_t), intent(in) :: bytes(:)
    type(tutti_text), allocatable, intent(out) :: texts(:)
    integer :: i

    allocate (texts(size(bytes)))
    do i = 1, size(bytes)
      call take_text(bytes(i), texts(i)%text)
    end do
  end subroutine

  !> Makes texts ready for C.
  subroutine list_texts(texts, list)
    character(*), intent(in) :: texts(:)
    type(text_list), target, intent(out) :: list
    integer :: i

    allocate (character(len(texts) + 1) :: list%texts(size(texts)))
    allocate (list%addresses(size(texts)))
    do i = 1, size(texts)
      list%texts(i) = to_c(texts(i))
      list%addresses(i) = c_loc(list%texts(i) (1:1))
    end do
  end subroutine

  !> A callback's `user` as C takes it.
  pure type(c_ptr) function or_null(user)
    type(c_ptr), optional, intent(in) :: user
    or_null = c_null_ptr
    if (present(user)) or_null = user
  end function

  !> 1 or 0, for C; 0 if it is absent.
  pure integer(c_int32_t) function number(flag)
    logical, optional, intent(in) :: flag
    number = 0
    if (.not. present(flag)) return
    if (flag) number = 1
  end function

  !> A timeout for C; 0, the default, if it is absent.
  pure integer(c_int64_t) function milliseconds(timeout_ms)
    integer, optional, intent(in) :: timeout_ms
    milliseconds = 0
    if (present(timeout_ms)) milliseconds = int(timeout_ms, c_int64_t)
  end function

  !> A node of an object as C numbers it; absent: the outermost one.
  pure integer(c_int64_t) function node_or_all(node)
    integer(c_int64_t), optional, intent(in) :: node
    node_or_all = 0
    if (present(node)) node_or_all = node
  end function

  !> A number of C as one of 32 bits; what does not fit is refused, and 0.
  subroutine narrow(wide, value, status, error)
    integer(c_int64_t), intent(in) :: wide
    integer(int32), intent(out) :: value
    integer(c_int32_t), intent(inout) :: status
    type(tutti_error), intent(inout) :: error
    integer(c_int64_t), parameter :: largest = huge(value)

    value = 0
    if (status /= TUTTI_OK) return
    if (wide > largest .or. wide < -largest - 1) then
      call refuse(status, error, "value has too few bits for what is there: use integer(int64)")
    else
      value = int(wide, int32)
    end if
  end subroutine
end module tutti_base
