!> Memory and streams of devices: what is refused without one; and sums on one, where there is one
!> (TUTTI_CUDA_LIBRARY), which the driver's own functions bring back.
program devices_test
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env
  use checks
  use driver
  use tutti
  implicit none
  integer :: rank, ranks, length

  call tutti_init_process_group()
  rank = tutti_get_rank()
  ranks = tutti_get_world_size()
  call get_environment_variable("TUTTI_CUDA_LIBRARY", length=length)
  call buffers_say_where()
  call streams()
  if (length == 0) then
    call refused()
    call refused_lists()
    call refused_gradients()
  else
    call load_driver()
    call sums()
    call lists_of_gpus()
  end if
  call tutti_destroy_process_group()
  call passed()
contains
  function there() result(address)
    type(c_ptr) :: address
    address = transfer(int(z'70000000', c_intptr_t), c_null_ptr)
  end function

  subroutine buffers_say_where()
    type(tutti_buffer) :: buffer, pieces(2), same
    buffer = tutti_device_buffer(there(), 10_int64, TUTTI_FLOAT32, device_index=1)
    call check(c_associated(buffer%data, there()), "the address")
    call check([int(buffer%count), buffer%dtype, buffer%device_type, buffer%device_index] == &
               [10, TUTTI_FLOAT32, TUTTI_CUDA, 1], "the rest")
    pieces = tutti_pieces(buffer, [4, 6])
    call check(pieces(2)%device_type == TUTTI_CUDA .and. pieces(2)%device_index == 1, "a piece")
    call check(transfer(pieces(2)%data, 0_c_intptr_t) == int(z'70000010', c_intptr_t), "its place")
    same = tutti_buffer_of(buffer)
    call check(same%device_index == 1 .and. same%count == 10, "a buffer stays as it is")
    same = tutti_buffer_of(buffer, TUTTI_INT32)
    call check(same%dtype == TUTTI_INT32, "of another dtype")
    buffer = tutti_device_buffer(there(), 3, TUTTI_INT8, TUTTI_XPU)
    call check(buffer%device_type == TUTTI_XPU .and. buffer%device_index == 0, "of another kind")
  end subroutine

  subroutine check_refused(status, message, name)
    integer, intent(in) :: status
    character(*), intent(in) :: message, name
    call check_status(status, TUTTI_ERR_UNSUPPORTED, name // ", without devices")
    call check_message(message, name)
    call check_message(message, "cuda")
  end subroutine

  subroutine refused()
    type(tutti_buffer) :: data, one
    type(tutti_work) :: work
    type(tutti_group) :: together
    type(tutti_mesh) :: mesh
    integer :: status, kind, number
    character(300) :: message

    data = tutti_device_buffer(there(), ranks, TUTTI_FLOAT32, device_index=1)
    one = tutti_device_buffer(there(), 1, TUTTI_FLOAT32, device_index=1)
    call tutti_broadcast(data, 0, ierr=status, errmsg=message)
    call check_refused(status, message, "buffer")
    call tutti_all_reduce(data, ierr=status, errmsg=message)
    call check_refused(status, message, "output")
    call tutti_all_reduce(data, TUTTI_MAX, data, ierr=status, errmsg=message)
    call check_refused(status, message, "put")
    call tutti_all_reduce(data, work=work, ierr=status, errmsg=message)
    call check_refused(status, message, "output")
    call tutti_reduce(data, 0, ierr=status, errmsg=message)
    call check_refused(status, message, "output")
    call tutti_all_gather_into_tensor(data, one, ierr=status, errmsg=message)
    call check_refused(status, message, "put")
    call tutti_reduce_scatter_tensor(one, data, ierr=status, errmsg=message)
    call check_refused(status, message, "put")
    call tutti_all_to_all_single(data, data, ierr=status, errmsg=message)
    call check_refused(status, message, "put")
    call tutti_send(data, 0, ierr=status, errmsg=message)
    call check_refused(status, message, "buffer")
    call tutti_recv(data, 0, ierr=status, errmsg=message)
    call check_refused(status, message, "buffer")
    call tutti_memory_alloc(one, 10, TUTTI_FLOAT32, ierr=status, errmsg=message)
    call check_refused(status, message, "options")
    call check(.not. c_associated(one%data), "nothing was allocated")
    call tutti_new_group(together, device_index=1, ierr=status, errmsg=message)
    call check_refused(status, message, "options")
    call tutti_init_device_mesh(mesh, [ranks], device_type=TUTTI_CPU, device_index=1, &
                                ierr=status, errmsg=message)
    call check_status(status, TUTTI_ERR_INVALID_ARGUMENT, "the CPU has one number")
    call tutti_group_get_bound_device(kind, number)
    call check([kind, number] == [TUTTI_CPU, 0], "bound to none")
    call tutti_memory_release(one)
    call tutti_coalescing_begin(together, options=tutti_coalescing_options( &
                                device_type=TUTTI_CUDA), ierr=status, errmsg=message)
    call check_refused(status, message, "options")
    call tutti_barrier()
  end subroutine

  subroutine refused_lists()
    type(tutti_buffer) :: data, one, list(ranks)
    type(tutti_work) :: works(1)
    integer :: status
    character(300) :: message

    data = tutti_device_buffer(there(), ranks, TUTTI_FLOAT32)
    list = tutti_pieces(data, ranks)
    one = list(1)
    call tutti_all_gather(list, ierr=status, errmsg=message)
    call check_refused(status, message, "outputs[0]")
    call tutti_gather(one, rank, list, ierr=status, errmsg=message)
    call check_refused(status, message, "put")
    call tutti_scatter(one, rank, list, ierr=status, errmsg=message)
    call check_refused(status, message, "put")
    call tutti_reduce_scatter(one, list, ierr=status, errmsg=message)
    call check_refused(status, message, "put")
    call tutti_all_reduce_addends(one, list, ierr=status, errmsg=message)
    call check_refused(status, message, "put")
    call tutti_all_to_all(list, list, ierr=status, errmsg=message)
    call check_refused(status, message, "put")
    call tutti_broadcast_multigpu(list, 0, 0, ierr=status, errmsg=message)
    call check_refused(status, message, "buffers[0]")
    call tutti_all_reduce_multigpu(list, ierr=status, errmsg=message)
    call check_refused(status, message, "buffers[0]")
    call tutti_reduce_multigpu(list, 0, 0, ierr=status, errmsg=message)
    call check_refused(status, message, "buffers[0]")
    call tutti_all_gather_multigpu(list, list, ierr=status, errmsg=message)
    call check_refused(status, message, "inputs[0]")
    call tutti_reduce_scatter_multigpu(list, list, ierr=status, errmsg=message)
    call check_refused(status, message, "outputs[0]")
    call tutti_batch_isend_irecv([tutti_isend_op(one, 0)], works, ierr=status, errmsg=message)
    call check_refused(status, message, "ops[0]")
    call tutti_scatter_bytes(group_src=0, pieces=list, ierr=status, errmsg=message)
    call check_status(status, TUTTI_ERR_INVALID_ARGUMENT, "bytes on a device")
    call tutti_barrier()
  end subroutine

  subroutine refused_gradients()
    type(tutti_buffer) :: data
    type(tutti_reducer) :: reducer
    type(tutti_reducer_options) :: options
    real, target :: x(1)
    integer :: status
    character(300) :: message

    data = tutti_device_buffer(there(), 1, TUTTI_FLOAT32)
    x = 1
    call tutti_reducer_create([data], reducer, ierr=status, errmsg=message)
    call check_refused(status, message, "parameters[0]")
    options%stream = there()
    call tutti_reducer_create([tutti_buffer_of(x)], reducer, options=options, ierr=status, &
                              errmsg=message)
    call check_status(status, TUTTI_ERR_INVALID_ARGUMENT, "a stream, and parameters on the CPU")
    call check_message(message, "options.stream is given")
    call tutti_reducer_create([tutti_buffer_of(x)], reducer)
    call reducer%sync_buffers([data], 0, ierr=status, errmsg=message)
    call check_refused(status, message, "buffers[0]")
    call reducer%begin()
    call reducer%mark_ready(1, data, ierr=status, errmsg=message)
    call check_refused(status, message, "gradient")
    call tutti_barrier()
    call reducer%release()
  end subroutine

  subroutine streams()
    type(tutti_call_options) :: options
    type(tutti_work) :: work
    integer :: status
    logical :: done
    real :: x(2)
    character(300) :: message

    options%stream = there()
    x = 1
    call tutti_all_reduce(x, options=options, ierr=status, errmsg=message)
    call check(status /= TUTTI_OK, "a stream with memory of the CPU")
    call check_message(message, "stream")
    call tutti_all_reduce(x, work=work)
    call work%synchronize()
    call work%is_completed(done)
    call check(done, "NULL waits")
    if (length == 0) then
      call work%synchronize(there(), ierr=status)
      call check(status /= TUTTI_OK, "a stream of no device")
    end if
    call work%release()
  end subroutine

  subroutine sums()
    type(tutti_call_options) :: options
    type(tutti_buffer) :: data
    type(tutti_work) :: work
    real, target :: values(1000)
    integer(c_int64_t) :: address
    type(tutti_group) :: bound, of_mesh
    type(tutti_mesh) :: mesh
    integer :: kind, number

    call tutti_memory_alloc(data, 1000, TUTTI_FLOAT32)
    address = transfer(data%data, address)
    values = rank + 1
    call check(put(address, c_loc(values), 4000_c_size_t) == 0, "to the device")
    call tutti_all_reduce(data)
    call tutti_broadcast(data, 0, work=work)
    call work%wait()
    call work%release()
    values = 0
    call check(get(c_loc(values), address, 4000_c_size_t) == 0, "from the device")
    call check(nint(values) == ranks * (ranks + 1) / 2, "sums on a device")

    call check(create_stream(options%stream, 0) == 0, "a stream")
    call tutti_all_reduce(data, TUTTI_MAX, options=options)
    call tutti_all_reduce(data, options=options, work=work)
    call work%synchronize(options%stream)
    call check(wait_for(options%stream) == 0, "the stream has come past it")
    call work%release()
    call check(get(c_loc(values), address, 4000_c_size_t) == 0, "from the device again")
    call check(nint(values) == ranks**2 * (ranks + 1) / 2, "sums on a stream")
    call tutti_new_group(bound, device_index=0)
    call tutti_group_get_bound_device(kind, number, bound)
    call check([kind, number] == [TUTTI_CUDA, 0], "bound as it was made")
    call tutti_all_reduce(data, TUTTI_MAX, group=bound)
    call tutti_init_device_mesh(mesh, [ranks], device_type=TUTTI_CUDA, device_index=0)
    call mesh%get_group(of_mesh)
    call tutti_group_get_bound_device(kind, number, of_mesh)
    call check([kind, number] == [TUTTI_CUDA, 0], "a mesh binds its groups")
    call tutti_barrier()
    call tutti_memory_release(data)
    call check(.not. c_associated(data%data), "given back")
  end subroutine

  !> Two GPUs for each rank.
  subroutine lists_of_gpus()
    type(tutti_buffer) :: ours(2), each(2 * 2 * ranks)
    type(tutti_work) :: work
    integer :: gpu, place, places

    places = 2 * ranks
    do gpu = 0, 1
      ours(gpu + 1) = on_gpu(gpu)
      do place = 0, places - 1
        each(gpu * places + place + 1) = on_gpu(gpu)
      end do
    end do
    call number(ours)
    call tutti_all_reduce_multigpu(ours, TUTTI_MAX)
    call check_all(ours, places, places, "the greatest of all")
    call number(ours)
    call tutti_broadcast_multigpu(ours, ranks - 1, 0, work=work)
    call work%wait()
    call work%release()
    call check_all(ours, places - 1, places - 1, "the one copied")
    call number(ours)
    call tutti_reduce_multigpu(ours, 0, 1)
    call check_all(ours, 2 * rank + 1, merge(places * (places + 1) / 2, 2 * rank + 2, rank == 0), &
                   "their sum, in one place")
    call number(ours)
    call tutti_all_gather_multigpu(each, ours)
    do place = 0, places - 1
      call check_all([each(place + 1), each(places + place + 1)], place + 1, place + 1, &
                     "gathered on both")
    end do
    call tutti_reduce_scatter_multigpu(ours, each)
    call check_all(ours, places * (2 * rank + 1), places * (2 * rank + 2), "parts of the sums")
    do gpu = 1, 2
      call tutti_memory_release(ours(gpu))
    end do
    do place = 1, size(each)
      call tutti_memory_release(each(place))
    end do
  end subroutine

  function on_gpu(gpu) result(buffer)
    integer, intent(in) :: gpu
    type(tutti_buffer) :: buffer
    call tutti_memory_alloc(buffer, 1000, TUTTI_FLOAT32, device_index=gpu)
    call set_all(buffer, -1)
  end function

  !> The numbers of all ranks' GPUs, from 1 on.
  subroutine number(ours)
    type(tutti_buffer), intent(in) :: ours(2)
    call set_all(ours(1), 2 * rank + 1)
    call set_all(ours(2), 2 * rank + 2)
  end subroutine

  subroutine set_all(buffer, value)
    type(tutti_buffer), intent(in) :: buffer
    integer, intent(in) :: value
    real, target :: values(1000)
    integer(c_int64_t) :: address
    values = value
    address = transfer(buffer%data, address)
    call check(put(address, c_loc(values), 4000_c_size_t) == 0, "to a device")
  end subroutine

  subroutine check_all(buffers, first, second, what)
    type(tutti_buffer), intent(in) :: buffers(2)
    integer, intent(in) :: first, second
    character(*), intent(in) :: what
    real, target :: values(1000)
    integer(c_int64_t) :: address
    integer :: which
    do which = 1, 2
      values = 0
      address = transfer(buffers(which)%data, address)
      call check(get(c_loc(values), address, 4000_c_size_t) == 0, "from a device")
      call check(nint(values) == merge(first, second, which == 1), what)
    end do
  end subroutine
end program devices_test
