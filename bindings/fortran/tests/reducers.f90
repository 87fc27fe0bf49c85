!> Gradients that are added up in buckets.
module own_hooks
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: real64
  use tutti
  implicit none
contains
  !> The greatest instead of the mean; counts its calls in `user`.
  function greatest(group, bucket, user, error) bind(C) result(status)
    integer(c_intptr_t), value :: group
    type(tutti_bucket), intent(in) :: bucket
    type(c_ptr), value :: user
    type(tutti_error), intent(inout) :: error
    integer(c_int32_t) :: status
    real(real64), pointer :: gradients(:)
    integer(c_int), pointer :: calls
    integer :: ierr

    call c_f_pointer(user, calls)
    calls = calls + 1
    call tutti_bucket_gradients(bucket, gradients)
    call tutti_set_error_message(error, "not of reals")
    status = TUTTI_ERR_UNSUPPORTED
    if (.not. associated(gradients)) return
    call tutti_all_reduce(gradients, TUTTI_MAX, group=tutti_group(group), ierr=ierr)
    status = int(ierr, c_int32_t)
  end function

  function refusing(group, bucket, user, error) bind(C) result(status)
    integer(c_intptr_t), value :: group
    type(tutti_bucket), intent(in) :: bucket
    type(c_ptr), value :: user
    type(tutti_error), intent(inout) :: error
    integer(c_int32_t) :: status
    call tutti_set_error_message(error, "no bucket today")
    status = TUTTI_ERR_BACKEND
    if (group == 0 .or. bucket%index < 0 .or. c_associated(user)) status = TUTTI_ERR_INTERNAL
  end function
end module own_hooks

program reducers_test
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64, real32, real64
  use checks
  use own_hooks
  use tutti
  implicit none
  real(real64), target, asynchronous :: weights(50, 60), bias(1), own(50, 60)
  type(tutti_reducer) :: reducer
  integer :: rank, ranks

  call tutti_init_process_group()
  rank = tutti_get_rank()
  ranks = tutti_get_world_size()
  call means_of_gradients()
  call buckets_of_an_optimizer()
  call passes_that_accumulate()
  call unused_parameters()
  call hooks()
  call fewer_bytes()
  call products_of_two_factors()
  call wrong_arguments()
  call failures()
  call tutti_destroy_process_group()
  call passed()
contains
  subroutine make(options)
    type(tutti_reducer_options), optional, intent(in) :: options
    type(tutti_reducer_options) :: chosen
    if (present(options)) chosen = options
    chosen%bucket_cap_bytes = 1000
    chosen%first_bucket_cap_bytes = 8
    weights = 0
    bias = rank + 7
    call tutti_reducer_create([tutti_buffer_of(weights), tutti_buffer_of(bias)], reducer, &
                              ["weights", "bias   "], options=chosen)
    call tutti_barrier()  ! a rank that fails now finds no other still making it
  end subroutine

  real(real64) function mean(parameter)
    integer, intent(in) :: parameter
    mean = (ranks + 1) / 2.0_real64 * parameter
  end function

  pure logical function is_all(values, number)
    real(real64), intent(in) :: values(:)
    integer, intent(in) :: number
    is_all = all(abs(values - number) < 1e-12)
  end function

  subroutine mark(parameter, ierr, errmsg)
    integer, intent(in) :: parameter
    integer, optional, intent(out) :: ierr
    character(*), optional, intent(inout) :: errmsg
    real(real64), pointer :: gradient(:)
    call reducer%gradient(parameter, gradient)
    gradient = (rank + 1) * parameter
    call reducer%mark_ready(parameter, ierr=ierr, errmsg=errmsg)
  end subroutine

  subroutine pass()
    call reducer%begin()
    call mark(2)
    call mark(1)
    call reducer%finish()
  end subroutine

  subroutine check_means(what)
    character(*), intent(in) :: what
    real(real64), pointer :: gradient(:)
    integer :: i
    do i = 1, 2
      call reducer%gradient(i, gradient)
      call check(abs(gradient - mean(i)) < 1e-12, what)
    end do
  end subroutine

  subroutine means_of_gradients()
    type(tutti_object) :: data
    integer(int64) :: iteration
    integer :: i
    call make()
    call check(is_all(bias, 7), "parameters are those of rank 0")
    do i = 1, 3
      call reducer%begin_forward()
      own = rank + 1
      call reducer%begin()
      call reducer%mark_ready(1, own)
      call mark(2)
      call reducer%finish()
      call check(all(abs(own - mean(1)) < 1e-12), "an array of the program's own receives the mean")
      call check_means("gradients are means")
    end do
    call reducer%logging_data(data)
    call data%get(iteration, data%find("iteration"))
    call check(iteration == 3, "three iterations are told")
    call data%release()
    call check([reducer%is_used(1), .not. reducer%is_used(3)], "a parameter is used")
    call check(reducer%generation() <= 1, "gradients move once at most")
    bias = rank
    call reducer%sync_buffers([tutti_buffer_of(bias)], ranks - 1)
    call check(is_all(bias, ranks - 1), "buffers are those of the last rank")
    call reducer%release()
    call check(reducer%generation() == -1, "a released reducer has no generation")
  end subroutine

  subroutine buckets_of_an_optimizer()
    type(tutti_bucket) :: bucket
    type(tutti_work) :: work
    real(real64), pointer :: gradients(:)
    real(real32), pointer :: wrong(:)
    integer, allocatable :: parameters(:)
    integer(int64), allocatable :: first(:), counts(:)
    integer :: buckets, i, ierr
    logical :: found

    call make()
    call reducer%begin()
    call mark(1)
    call mark(2)
    call reducer%finish(work)
    buckets = 0
    do
      call reducer%next_bucket(bucket, found)
      if (.not. found) exit
      call check(bucket%index == buckets, "buckets come in order")
      buckets = buckets + 1
      call tutti_bucket_gradients(bucket, gradients)
      call tutti_bucket_gradients(bucket, wrong)
      call check(.not. associated(wrong), "a pointer of another type is NULL")
      call tutti_bucket_parameters(bucket, parameters, first, counts)
      do i = 1, size(parameters)
        associate (gradient => gradients(first(i):first(i) + counts(i) - 1))
          call check(abs(gradient - mean(parameters(i))) < 1e-12, "the bucket has the mean")
        end associate
      end do
    end do
    call work%wait()
    call work%release()
    call reducer%get_bucket(1, bucket)
    call check(bucket%bucket_count == buckets .and. buckets == 2, "there are two buckets")
    call reducer%get_bucket(99, bucket, ierr=ierr)
    call check_status(ierr, TUTTI_ERR_INVALID_ARGUMENT, "bucket 99")
    call reducer%release()
  end subroutine

  subroutine passes_that_accumulate()
    type(tutti_reducer_options) :: options
    real(real64), pointer :: gradient(:)
    integer :: i
    options%sum = 1
    call make(options)
    call reducer%gradient(1, gradient)
    do i = 1, 3
      call reducer%begin(synchronise=i == 3)
      gradient = gradient + 1
      call reducer%mark_ready(1)
      call reducer%mark_ready(2)
      call reducer%finish()
    end do
    call check(is_all(gradient, 3 * ranks), "three passes add up")
    call reducer%release()
  end subroutine

  subroutine unused_parameters()
    type(tutti_reducer_options) :: options
    options%find_unused_parameters = 1
    call make(options)
    call reducer%begin()
    call reducer%mark_unused([2])
    if (rank == 0) call mark(1)
    call reducer%finish()
    call check([reducer%is_used(1), .not. reducer%is_used(2)], "one of them is used")
    call reducer%release()
  end subroutine

  subroutine hooks()
    integer(c_int), target :: calls
    real(real64), pointer :: gradient(:)
    calls = 0
    call make()
    call reducer%set_hook(greatest, c_loc(calls))
    call pass()
    call reducer%gradient(2, gradient)
    call check(is_all(gradient, 2 * ranks), "the hook gives the greatest")
    call check(calls == 2, "the hook is called for each bucket")
    call reducer%set_hook()
    call pass()
    call check_means("without the hook gradients are means")
    call reducer%release()
  end subroutine

  subroutine fewer_bytes()
    real(real64), pointer :: gradient(:)
    integer, parameter :: ways(4) = [TUTTI_COMPRESSION_FLOAT16, TUTTI_COMPRESSION_BFLOAT16, &
                                     TUTTI_COMPRESSION_QUANTISED, TUTTI_COMPRESSION_NONE]
    integer :: i, ierr
    call make()
    do i = 1, size(ways)
      call reducer%set_compression(ways(i))
      call pass()
      call reducer%gradient(1, gradient)
      call check(abs(gradient - mean(1)) < 0.01, "compressed gradients are near the means")
    end do
    call reducer%set_compression(99, ierr=ierr)
    call check_status(ierr, TUTTI_ERR_INVALID_ARGUMENT, "compression 99")
    call reducer%release()
  end subroutine

  subroutine products_of_two_factors()
    type(tutti_power_sgd_options) :: options
    type(tutti_object) :: data
    character(400) :: message
    integer(int64) :: sent, before
    integer :: i, ierr
    call make()
    options%start_iteration = 1
    call reducer%set_power_sgd([60], options, ierr=ierr, errmsg=message)
    call check_status(ierr, TUTTI_ERR_INVALID_ARGUMENT, "rows for one parameter of two")
    call check_message(message, "count is 1")
    options%random_seed = rank
    call reducer%set_power_sgd([60, 0], options, ierr=ierr)
    call check_status(ierr, merge(TUTTI_OK, TUTTI_ERR_MISMATCH, ranks == 1), "ranks with other seeds")
    options%random_seed = 0
    call reducer%set_power_sgd([60, 0], options)
    before = 0
    do i = 1, 3
      call pass()
      call check_means("products of two factors are the means")
      call reducer%logging_data(data)
      call data%get(sent, data%find("communicated_bytes"))
      call data%release()
      call check(sent - before == 8 * merge(size(weights) + 1, sum(shape(weights)) + 1, i == 1), &
                 "factors travel from the second pass on")
      before = sent
    end do
    call reducer%release()
  end subroutine

  subroutine wrong_arguments()
    type(tutti_reducer) :: other
    type(tutti_buffer) :: none(0)
    real(real32), pointer :: wrong(:)
    character(200) :: message
    integer :: ierr
    call tutti_reducer_create([tutti_buffer_of(bias)], other, order=[1, 1], ierr=ierr, &
                              errmsg=message)
    call check_message(message, "order must have")
    call tutti_reducer_create([tutti_buffer_of(bias)], other, ["a", "b"], ierr=ierr, &
                              errmsg=message)
    call check_message(message, "names must be")
    call tutti_reducer_create(none, other, ierr=ierr)
    call check_status(ierr, TUTTI_ERR_INVALID_ARGUMENT, "no parameters")
    call make()
    call reducer%mark_ready(1, ierr=ierr, errmsg=message)
    call check_message(message, "no pass has begun")
    call reducer%gradient(1, wrong, ierr=ierr, errmsg=message)
    call check_message(message, "another type")
    call reducer%gradient(0, wrong, ierr=ierr)
    call check_status(ierr, TUTTI_ERR_INVALID_ARGUMENT, "parameter 0")
    call reducer%begin()
    call reducer%mark_ready(1, own(:, 1), ierr=ierr)
    call check_status(ierr, TUTTI_ERR_INVALID_ARGUMENT, "a gradient of another size")
    call mark(1)
    call reducer%mark_ready(1, ierr=ierr, errmsg=message)
    call check_message(message, "marked before")
    call mark(2)
    call reducer%finish()
    call reducer%release()
    call reducer%begin(ierr=ierr)
    call check_status(ierr, TUTTI_ERR_INVALID_HANDLE, "a released reducer")
  end subroutine

  subroutine failures()
    character(400) :: message
    integer :: ierr
    call make()
    call reducer%begin()
    call mark(1)
    call reducer%finish(ierr=ierr, errmsg=message)
    call check_status(ierr, TUTTI_ERR_MISMATCH, "a parameter without gradient")
    call check_message(message, "bias")
    call reducer%release()
    call make()
    call reducer%set_hook(refusing)
    call reducer%begin()
    call mark(2)
    call mark(1, ierr, message)  ! the first bucket may have failed by now
    if (ierr == TUTTI_OK) call reducer%finish(ierr=ierr, errmsg=message)
    call check_status(ierr, TUTTI_ERR_BACKEND, "a hook that fails")
    call check_message(message, "no bucket today")
    call reducer%shrink(TUTTI_GROUP_NON_MEMBER, ierr)
    call check_status(ierr, TUTTI_ERR_INVALID_HANDLE, "going on in no group")
    call reducer%shrink()  ! here in the same group
    call reducer%set_hook()
    call pass()
    call check_means("after a failure the reducer goes on")
    call reducer%release()
  end subroutine
end program reducers_test
