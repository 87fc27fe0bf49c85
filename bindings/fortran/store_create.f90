!> Making stores.
module tutti_store_creation
  use, intrinsic :: iso_c_binding
  use tutti_constants, only: tutti_error, tutti_store_options, tutti_tcp_store_options
  use tutti_base
  use tutti_functions
  use tutti_stores
  implicit none
  private
  public :: tutti_hash_store_create, tutti_file_store_create, tutti_tcp_store_create
  public :: tutti_prefix_store_create, tutti_store_open
contains
  !> Makes a store that lives in this process only, for ranks that are threads.
  wrap tutti_hash_store_create(store)

  !> Opens a store in a file that all processes can reach and lock; PyTorch's FileStore layout.
  !> `world_size`: how many processes will open it; absent: not fixed, and the file stays.
  !> `timeout_ms`: of the store's calls, and of the wait for others that hold the file's lock.
  subroutine tutti_file_store_create(path, store, world_size, timeout_ms, ierr, errmsg)
    character(*), intent(in) :: path
    type(tutti_store), intent(out) :: store
    integer, optional, intent(in) :: world_size, timeout_ms
    include "error.inc"
    type(tutti_store_options) :: options
    integer(c_int32_t) :: ranks

    ranks = -1
    if (present(world_size)) ranks = int(world_size, c_int32_t)
    options%timeout_ms = milliseconds(timeout_ms)
    status = c_tutti_file_store_create(to_c(path), ranks, options, store%handle, error)
    call finish(status, error, ierr, errmsg)
  end subroutine

  !> Opens the store of a library libtutti-NAME.so, which says what `address` is; absent: "".
  !> `timeout_ms`: of opening, and of the store's calls.
  subroutine tutti_store_open(name, store, address, timeout_ms, ierr, errmsg)
    character(*), intent(in) :: name
    type(tutti_store), intent(out) :: store
    character(*), optional, intent(in) :: address
    integer, optional, intent(in) :: timeout_ms
    include "error.inc"
    character(:), allocatable :: place
    type(tutti_store_options) :: options

    place = ""
    if (present(address)) place = address
    options%timeout_ms = milliseconds(timeout_ms)
    status = c_tutti_store_open(to_c(name), to_c(place), options, store%handle, error)
    call finish(status, error, ierr, errmsg)
  end subroutine

  !> Connects to a store served over TCP, and serves it if `is_master`. Speaks PyTorch 2's protocol.
  !> `port` 0 on the master: any free one. `world_size`: how many clients will come, the master's
  !> own included; absent: not fixed. `options` has the limits of the server, which its fields
  !> explain; `timeout_ms` and `wait_for_workers` are said here.
  subroutine tutti_tcp_store_create(host, port, store, is_master, world_size, timeout_ms, &
                                    wait_for_workers, options, ierr, errmsg)
    character(*), intent(in) :: host
    integer, intent(in) :: port
    type(tutti_store), intent(out) :: store
    logical, optional, intent(in) :: is_master, wait_for_workers
    integer, optional, intent(in) :: world_size, timeout_ms
    type(tutti_tcp_store_options), optional, intent(in) :: options
    include "error.inc"
    type(tutti_tcp_store_options) :: c_options
    integer(c_int32_t) :: ranks

    if (present(options)) c_options = options
    if (present(timeout_ms)) c_options%timeout_ms = timeout_ms
    if (present(wait_for_workers)) c_options%no_wait_for_workers = number(.not. wait_for_workers)
    ranks = -1
    if (present(world_size)) ranks = int(world_size, c_int32_t)
    status = c_tutti_tcp_store_create(to_c(host), int(port, c_int32_t), ranks, number(is_master), &
                                      c_options, store%handle, error)
    call finish(status, error, ierr, errmsg)
  end subroutine

  !> Makes a view of a store that puts `prefix` and "/" before every key.
  subroutine tutti_prefix_store_create(underlying, prefix, store, ierr, errmsg)
    type(tutti_store), intent(in) :: underlying
    character(*), intent(in) :: prefix
    type(tutti_store), intent(out) :: store
    include "error.inc"

    status = c_tutti_prefix_store_create(underlying%handle, to_c(prefix), store%handle, error)
    call finish(status, error, ierr, errmsg)
  end subroutine
end module tutti_store_creation
