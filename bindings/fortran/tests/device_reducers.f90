!> Gradients on a device are reduced there, in the order of a stream; the functions of the driver
!> bring them back (TUTTI_CUDA_LIBRARY).
module hook_on_a_device
  use, intrinsic :: iso_c_binding
  use tutti
  implicit none
contains
  !> The greatest instead of the mean, of buckets on a device.
  function greatest(group, bucket, user, error) bind(C) result(status)
    integer(c_intptr_t), value :: group
    type(tutti_bucket), intent(in) :: bucket
    type(c_ptr), value :: user
    type(tutti_error), intent(inout) :: error
    integer(c_int32_t) :: status
    type(tutti_call_options) :: options
    type(tutti_buffer) :: gradients
    real, pointer :: array(:)
    integer :: ierr

    call tutti_bucket_gradients(bucket, array)
    gradients = bucket%gradients
    options%stream = bucket%stream
    call tutti_set_error_message(error, "the bucket is not on a stream of a device")
    status = TUTTI_ERR_INTERNAL
    if (associated(array) .or. c_associated(user) .or. .not. c_associated(options%stream)) return
    call tutti_all_reduce(gradients, TUTTI_MAX, group=tutti_group(group), options=options, &
                          ierr=ierr)
    status = int(ierr, c_int32_t)
  end function
end module hook_on_a_device

program device_reducers_test
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64
  use checks
  use driver
  use hook_on_a_device
  use tutti
  implicit none
  integer :: rank, ranks

  call tutti_init_process_group()
  rank = tutti_get_rank()
  ranks = tutti_get_world_size()
  call load_driver()
  call gradients(.false.)
  call gradients(.true.)
  call tutti_destroy_process_group()
  call passed()
contains
  !> A pass in which the stream writes the gradients, to the place of the first one and to one of
  !> the program's own.
  subroutine pass(reducer, own, computed, stream, work)
    type(tutti_reducer), intent(in) :: reducer
    type(tutti_buffer), intent(in) :: own, computed(2)
    type(c_ptr), intent(in) :: stream
    type(tutti_work), optional, intent(out) :: work
    type(tutti_buffer) :: place

    call fill(computed(1), rank + 1)
    call fill(computed(2), 10 * (rank + 1))
    call reducer%begin()
    call reducer%gradient(1, place)
    call check(copy(address_of(place), address_of(computed(1)), bytes_of(place), stream) == 0, &
               "the first gradient")
    call reducer%mark_ready(1)
    call check(copy(address_of(own), address_of(computed(2)), bytes_of(own), stream) == 0, &
               "the second gradient")
    call reducer%mark_ready(2, own)
    call reducer%finish(work)
  end subroutine

  subroutine gradients(has_stream)
    logical, intent(in) :: has_stream
    type(tutti_reducer_options) :: options
    type(tutti_reducer) :: reducer
    type(tutti_buffer) :: memory, parts(5), place
    type(tutti_bucket) :: bucket
    type(tutti_work) :: work
    real, pointer :: array(:)
    real, target :: on_cpu(1)
    real :: mean
    integer :: i, status, buckets
    integer, allocatable :: parameters(:)
    integer(int64), allocatable :: first(:), counts(:)
    logical :: found
    character(300) :: message

    call tutti_memory_alloc(memory, 500, TUTTI_FLOAT32)
    parts = tutti_pieces(memory, 5)
    mean = (ranks + 1) / 2.0
    if (has_stream) call check(create_stream(options%stream, 1) == 0, "a stream")
    options%bucket_cap_bytes = 8
    call fill(parts(1), rank + 7)
    call tutti_reducer_create(parts(1:2), reducer, options=options)
    call check_filled(parts(1), 7.0, options%stream, "parameters are those of rank 0")
    do i = 1, 2
      call pass(reducer, parts(3), parts(4:5), options%stream)
      call reducer%gradient(1, place)
      call check_filled(place, mean, options%stream, "the mean in the reducer's memory")
      call check_filled(parts(3), 10 * mean, options%stream, "the mean in the program's own")
    end do
    call check([place%device_type, place%device_index] == [TUTTI_CUDA, 0], "it is on the device")
    call reducer%gradient(1, array, ierr=status, errmsg=message)
    call check_status(status, TUTTI_ERR_INVALID_ARGUMENT, "no array for what is on a device")
    call check_message(message, "array is for the CPU")
    call check(.not. associated(array), "the array points nowhere")

    call reducer%set_hook(greatest)
    call pass(reducer, parts(3), parts(4:5), options%stream)
    call check_filled(parts(3), 10.0 * ranks, options%stream, "the hook gives the greatest")
    call reducer%set_hook()
    call pass(reducer, parts(3), parts(4:5), options%stream, work)
    buckets = 0
    do
      call reducer%next_bucket(bucket, found)
      if (.not. found) exit
      buckets = buckets + 1
      call tutti_bucket_gradients(bucket, array)
      call check(.not. associated(array), "no array for a bucket on a device")
      place = bucket%gradients
      call tutti_bucket_parameters(bucket, parameters, first, counts)
      call check_filled(place, mean * 10**(parameters(1) - 1), options%stream, "a bucket's mean")
    end do
    call check(buckets == 2, "there are two buckets")
    call work%synchronize(options%stream)
    call work%wait()
    call work%release()

    call fill(parts(3), rank)
    on_cpu = rank
    call reducer%sync_buffers([parts(3), tutti_buffer_of(on_cpu)], ranks - 1)
    call check_filled(parts(3), real(ranks - 1), options%stream, "a buffer on the device")
    call check(nint(on_cpu) == ranks - 1, "a buffer on the CPU")
    call reducer%release()
    call tutti_barrier()
    call tutti_memory_release(memory)
  end subroutine
end program device_reducers_test
