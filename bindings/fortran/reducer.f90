!> Gradients of a model that are added up over the ranks, in buckets, while the program computes
!> others (torch: DistributedDataParallel). Parameters and buckets are counted from 1.
module tutti_reducers
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use tutti_arrays, only: array_argument, open_array, close_array, end_array
  use tutti_base
  use tutti_constants
  use tutti_functions
  use tutti_groups, only: tutti_group, group_handle
  use tutti_objects, only: tutti_object
  use tutti_works, only: tutti_work
  implicit none
  private
  public :: tutti_reducer, tutti_reducer_options, tutti_bucket, tutti_bucket_hook
  public :: tutti_power_sgd_options
  public :: tutti_reducer_create, tutti_bucket_gradients, tutti_bucket_parameters

  !> A handle of a reducer: a value that may be copied, and is released once.
  type :: tutti_reducer
    integer(c_intptr_t) :: handle = 0
  contains
    procedure, private :: gradient_int8, gradient_int16, gradient_int32, gradient_int64
    procedure, private :: gradient_real32, gradient_real64, gradient_complex32
    procedure, private :: gradient_complex64, gradient_buffer
    !> gradient(index, array): points `array`, of one dimension, to the gradient of a parameter in
    !> the reducer's memory: compute it there. It belongs to the reducer from mark_ready to the end
    !> of the pass, and is good until `generation` changes or the reducer is released. It keeps what
    !> is there, so a program that accumulates sets it to zero when it begins anew.
    !> gradient(index, buffer): the place as a tutti_buffer, which alone can be on a device.
    generic :: gradient => gradient_int8, gradient_int16, gradient_int32, gradient_int64, &
      gradient_real32, gradient_real64, gradient_complex32, gradient_complex64, gradient_buffer
    procedure :: generation, get_bucket, begin_forward, begin, mark_ready, mark_unused
    procedure :: finish => finish_pass
    procedure :: next_bucket, is_used, sync_buffers, set_hook, set_compression, set_power_sgd
    procedure :: shrink, logging_data, release
  end type

  !> tutti_bucket_gradients(bucket, array): points `array`, of one dimension, to all gradients of a
  !> bucket; NULL if they are of another type, or on a device: bucket%gradients is a tutti_buffer of
  !> them. They may be written in a hook alone.
  interface tutti_bucket_gradients
    module procedure bucket_int8, bucket_int16, bucket_int32, bucket_int64, bucket_real32
    module procedure bucket_real64, bucket_complex32, bucket_complex64
  end interface
contains
  !> Makes a reducer for the parameters of a model, `tutti_buffer_of` each, or all on a device:
  !> `tutti_device_buffer`. Gradients are then on it, too, and the program computes them on the
  !> stream options%stream, or else on the default one. All ranks of the group call it with
  !> parameters of the same names, counts and types in the same order; if they differ, all get
  !> TUTTI_ERR_MISMATCH. They receive the values of rank 0, unless options say otherwise.
  !> `order`: the numbers of all parameters as their gradients are expected; absent: the last first.
  subroutine tutti_reducer_create(parameters, reducer, names, order, group, options, ierr, errmsg)
    type(tutti_buffer), intent(in) :: parameters(:)
    type(tutti_reducer), intent(out) :: reducer
    character(*), optional, intent(in) :: names(:)
    integer, optional, intent(in) :: order(:)
    type(tutti_group), optional, intent(in) :: group
    type(tutti_reducer_options), optional, intent(in) :: options
    include "error.inc"
    integer(c_int64_t), allocatable :: places(:)
    type(text_list), target :: list

    status = TUTTI_OK
    if (present(order)) then
      if (size(order) /= size(parameters)) &
        call refuse(status, error, "order must have as many numbers as there are parameters")
      allocate (places(size(order)))
      places(:) = int(order, int64) - 1
    end if
    if (present(names)) then
      if (size(names) /= size(parameters)) &
        call refuse(status, error, "names must be as many as there are parameters")
      call list_texts(names, list)
    else
      call list_numbers(size(parameters), list)
    end if
    if (status == TUTTI_OK) &
      status = c_tutti_reducer_create(group_handle(group), parameters, list%addresses, places, &
                                      size(parameters, kind=c_int64_t), options, reducer%handle, &
                                      error)
    call finish(status, error, ierr, errmsg)
  end subroutine

  !> The numbers of parameters as names, for messages.
  subroutine list_numbers(count, list)
    integer, intent(in) :: count
    type(text_list), target, intent(out) :: list
    character(12) :: numbers(count)
    integer :: i
    do i = 1, count
      write (numbers(i), '(i0)') i
    end do
    call list_texts(numbers, list)
  end subroutine

  !> The place of a gradient; none, of no dtype, if it is not of the wanted one.
  function place_of(self, index, dtype, ierr, errmsg) result(place)
    class(tutti_reducer), intent(in) :: self
    integer, intent(in) :: index
    integer(c_int32_t), intent(in) :: dtype
    include "error.inc"
    type(tutti_buffer) :: place

    status = c_tutti_reducer_gradient(self%handle, place_in_c(index), place, error)
    if (status == TUTTI_OK .and. place%device_type /= TUTTI_CPU) then
      call refuse(status, error, "array is for the CPU, and the parameter on a device: pass a &
                  &tutti_buffer")
    else if (status == TUTTI_OK .and. place%dtype /= dtype) then
      call refuse(status, error, "array is of another type than the parameter")
    end if
    if (status /= TUTTI_OK) place%dtype = -1
    call finish(status, error, ierr, errmsg)
  end function

  subroutine gradient_buffer(self, index, buffer, ierr, errmsg)
    class(tutti_reducer), intent(in) :: self
    integer, intent(in) :: index
    type(tutti_buffer), intent(out) :: buffer
    include "error.inc"
    status = c_tutti_reducer_gradient(self%handle, place_in_c(index), buffer, error)
    call finish(status, error, ierr, errmsg)
  end subroutine

  !> The number of a parameter as C counts it.
  pure integer(c_int64_t) function place_in_c(index)
    integer, intent(in) :: index
    place_in_c = int(index, c_int64_t) - 1
  end function

  subroutine gradient_int8(self, index, array, ierr, errmsg)
    integer(c_int32_t), parameter :: dtype = TUTTI_INT8
    integer(int8), pointer, intent(out) :: array(:)
    include "gradient.inc"
  end subroutine

  subroutine gradient_int16(self, index, array, ierr, errmsg)
    integer(c_int32_t), parameter :: dtype = TUTTI_INT16
    integer(int16), pointer, intent(out) :: array(:)
    include "gradient.inc"
  end subroutine

  subroutine gradient_int32(self, index, array, ierr, errmsg)
    integer(c_int32_t), parameter :: dtype = TUTTI_INT32
    integer(int32), pointer, intent(out) :: array(:)
    include "gradient.inc"
  end subroutine

  subroutine gradient_int64(self, index, array, ierr, errmsg)
    integer(c_int32_t), parameter :: dtype = TUTTI_INT64
    integer(int64), pointer, intent(out) :: array(:)
    include "gradient.inc"
  end subroutine

  subroutine gradient_real32(self, index, array, ierr, errmsg)
    integer(c_int32_t), parameter :: dtype = TUTTI_FLOAT32
    real(real32), pointer, intent(out) :: array(:)
    include "gradient.inc"
  end subroutine

  subroutine gradient_real64(self, index, array, ierr, errmsg)
    integer(c_int32_t), parameter :: dtype = TUTTI_FLOAT64
    real(real64), pointer, intent(out) :: array(:)
    include "gradient.inc"
  end subroutine

  subroutine gradient_complex32(self, index, array, ierr, errmsg)
    integer(c_int32_t), parameter :: dtype = TUTTI_COMPLEX64
    complex(real32), pointer, intent(out) :: array(:)
    include "gradient.inc"
  end subroutine

  subroutine gradient_complex64(self, index, array, ierr, errmsg)
    integer(c_int32_t), parameter :: dtype = TUTTI_COMPLEX128
    complex(real64), pointer, intent(out) :: array(:)
    include "gradient.inc"
  end subroutine

  subroutine bucket_int8(bucket, array)
    integer(c_int32_t), parameter :: dtype = TUTTI_INT8
    integer(int8), pointer, intent(out) :: array(:)
    include "bucket.inc"
  end subroutine

  subroutine bucket_int16(bucket, array)
    integer(c_int32_t), parameter :: dtype = TUTTI_INT16
    integer(int16), pointer, intent(out) :: array(:)
    include "bucket.inc"
  end subroutine

  subroutine bucket_int32(bucket, array)
    integer(c_int32_t), parameter :: dtype = TUTTI_INT32
    integer(int32), pointer, intent(out) :: array(:)
    include "bucket.inc"
  end subroutine

  subroutine bucket_int64(bucket, array)
    integer(c_int32_t), parameter :: dtype = TUTTI_INT64
    integer(int64), pointer, intent(out) :: array(:)
    include "bucket.inc"
  end subroutine

  subroutine bucket_real32(bucket, array)
    integer(c_int32_t), parameter :: dtype = TUTTI_FLOAT32
    real(real32), pointer, intent(out) :: array(:)
    include "bucket.inc"
  end subroutine

  subroutine bucket_real64(bucket, array)
    integer(c_int32_t), parameter :: dtype = TUTTI_FLOAT64
    real(real64), pointer, intent(out) :: array(:)
    include "bucket.inc"
  end subroutine

  subroutine bucket_complex32(bucket, array)
    integer(c_int32_t), parameter :: dtype = TUTTI_COMPLEX64
    complex(real32), pointer, intent(out) :: array(:)
    include "bucket.inc"
  end subroutine

  subroutine bucket_complex64(bucket, array)
    integer(c_int32_t), parameter :: dtype = TUTTI_COMPLEX128
    complex(real64), pointer, intent(out) :: array(:)
    include "bucket.inc"
  end subroutine

  !> The parameters of a bucket in their order: their numbers, where the gradient of each begins in
  !> the bucket's, from 1, and how many elements it has.
  subroutine tutti_bucket_parameters(bucket, parameters, first, counts)
    type(tutti_bucket), intent(in) :: bucket
    integer, allocatable, intent(out) :: parameters(:)
    integer(int64), allocatable, intent(out) :: first(:), counts(:)
    integer(c_int64_t), pointer :: list(:)

    call c_f_pointer(bucket%parameters, list, [bucket%parameter_count])
    parameters = int(list) + 1
    call c_f_pointer(bucket%offsets, list, [bucket%parameter_count])
    first = list + 1
    call c_f_pointer(bucket%counts, list, [bucket%parameter_count])
    counts = list
  end subroutine

  !> How often gradients have moved, which only `begin` and `shrink` do; -1 for a reducer that was
  !> released.
  integer(int64) function generation(self)
    class(tutti_reducer), intent(in) :: self
    generation = c_tutti_reducer_generation(self%handle)
  end function

  !> One of the buckets as they are now, valid until the next `begin`. There is always a first, whose
  !> bucket_count says how many there are. The component `index` of a bucket begins at 0.
  subroutine get_bucket(self, index, bucket, ierr, errmsg)
    class(tutti_reducer), intent(in) :: self
    integer, intent(in) :: index
    type(tutti_bucket), intent(out) :: bucket
    include "error.inc"
    status = c_tutti_reducer_get_bucket(self%handle, int(index - 1, c_int32_t), bucket, error)
    call finish(status, error, ierr, errmsg)
  end subroutine

  !> Says that a forward pass begins, so that logging_data can tell how long it takes.
  wrap tutti_reducer_begin_forward(self) as begin_forward

  !> Begins a backward pass. With `synchronise` .false. it sends nothing, and counts in the next one
  !> that does (torch: no_sync).
  subroutine begin(self, synchronise, ierr, errmsg)
    class(tutti_reducer), intent(in) :: self
    logical, optional, intent(in) :: synchronise
    include "error.inc"
    integer(c_int32_t) :: flag
    flag = 1
    if (present(synchronise)) flag = number(synchronise)
    status = c_tutti_reducer_begin(self%handle, flag, error)
    call finish(status, error, ierr, errmsg)
  end subroutine

  !> Says that the gradient of a parameter is complete: in its place or, with `gradient`, in an array
  !> of the program's own, which receives the result. That must stay where it is, contiguous, until
  !> a synchronised pass has ended: declare it `asynchronous`, or `target`. On a device it is a
  !> tutti_buffer, whose memory must stay until the results are there. A program that accumulates
  !> gives all that it has accumulated. Several threads may call it.
  subroutine mark_ready(self, index, gradient, ierr, errmsg)
    class(tutti_reducer), intent(in) :: self
    integer, intent(in) :: index
    type(*), dimension(..), optional, target, asynchronous, intent(in) :: gradient
    include "error.inc"
    integer, allocatable :: no_dtype
    type(array_argument), target :: opened

    status = TUTTI_OK
    if (.not. present(gradient)) then
      status = c_tutti_reducer_mark_ready(self%handle, place_in_c(index), error=error)
      call finish(status, error, ierr, errmsg)
      return
    end if
    call open_array("gradient", gradient, no_dtype, .false., opened, status, error, .true.)
    if (status == TUTTI_OK) &
      status = c_tutti_reducer_mark_ready(self%handle, place_in_c(index), opened%buffer, error)
    call close_array(gradient, .false., opened)
    call end_array(opened, status, error, ierr, errmsg)
  end subroutine

  !> Says early that parameters get no gradient in this pass.
  subroutine mark_unused(self, indices, ierr, errmsg)
    class(tutti_reducer), intent(in) :: self
    integer, intent(in) :: indices(:)
    include "error.inc"
    status = c_tutti_reducer_mark_unused(self%handle, int(indices, c_int64_t) - 1, &
                                         size(indices, kind=c_int64_t), error)
    call finish(status, error, ierr, errmsg)
  end subroutine

  !> Ends a backward pass, and returns when all buckets are reduced, or, with a stream of a device,
  !> enqueued: every rank then has the same gradients, if the pass was synchronised. With a `work`
  !> it returns at once. Parameters that were not marked get no gradient from this rank; where
  !> options do not allow that, all ranks get TUTTI_ERR_MISMATCH with their names.
  subroutine finish_pass(self, work, ierr, errmsg)
    class(tutti_reducer), intent(in) :: self
    type(tutti_work), optional, intent(out) :: work
    include "error.inc"
    if (present(work)) then
      status = c_tutti_reducer_finish(self%handle, work%handle, error)
    else
      status = c_tutti_reducer_finish(self%handle, error=error)
    end if
    call finish(status, error, ierr, errmsg)
  end subroutine

  !> The next bucket of this pass whose gradients are reduced, when it is: an optimizer may update
  !> its parameters while later ones travel. Call it after `finish` with a work. `found` is .false.
  !> after the last one, and in a pass that is not synchronised.
  subroutine next_bucket(self, bucket, found, ierr, errmsg)
    class(tutti_reducer), intent(in) :: self
    type(tutti_bucket), intent(out) :: bucket
    logical, intent(out) :: found
    include "error.inc"
    bucket%index = -1
    status = c_tutti_reducer_next_bucket(self%handle, bucket, error)
    found = status == TUTTI_OK .and. bucket%index >= 0
    call finish(status, error, ierr, errmsg)
  end subroutine

  !> Whether any rank had a gradient for a parameter in the last synchronised pass.
  logical function is_used(self, index)
    class(tutti_reducer), intent(in) :: self
    integer, intent(in) :: index
    is_used = c_tutti_reducer_is_used(self%handle, place_in_c(index)) == 1
  end function

  !> Copies buffers, `tutti_buffer_of` each, of one rank to all, between two passes. They are on the
  !> CPU or on the device of the parameters.
  subroutine sync_buffers(self, buffers, src, ierr, errmsg)
    class(tutti_reducer), intent(in) :: self
    type(tutti_buffer), intent(in) :: buffers(:)
    integer, intent(in) :: src
    include "error.inc"
    status = c_tutti_reducer_sync_buffers(self%handle, buffers, size(buffers, kind=c_int64_t), &
                                          int(src, c_int32_t), error)
    call finish(status, error, ierr, errmsg)
  end subroutine

  !> Has a bind(C) procedure reduce each bucket in place instead of the all_reduce and the division,
  !> on a thread of the reducer, one bucket after the other. Its `group` is the handle of a group that
  !> it has for itself: tutti_group(group). On a device it reduces bucket%gradients, a tutti_buffer,
  !> on the stream bucket%stream. What it returns beside TUTTI_OK fails the reducer on all
  !> ranks. All ranks set it before the same pass. `user` is passed to it as it is, and to
  !> `release_user` once it is not called any more. Without `hook` the reducer reduces buckets itself.
  subroutine set_hook(self, hook, user, release_user, ierr, errmsg)
    class(tutti_reducer), intent(in) :: self
    procedure(tutti_bucket_hook), optional :: hook
    type(c_ptr), optional, intent(in) :: user
    procedure(tutti_release_function), optional :: release_user
    integer, optional, intent(out) :: ierr
    character(*), optional, intent(inout) :: errmsg
    type(tutti_error) :: error
    type(c_funptr) :: function, release
    integer(c_int32_t) :: status
    function = c_null_funptr
    if (present(hook)) function = c_funloc(hook)
    release = c_null_funptr
    if (present(release_user)) release = c_funloc(release_user)
    status = c_tutti_reducer_set_hook(self%handle, function, or_null(user), release, error)
    call finish(status, error, ierr, errmsg)
  end subroutine

  !> Chooses how gradients travel, a TUTTI_COMPRESSION_ constant; all ranks call it between the same
  !> passes, and it returns when they have. It replaces the hook before it.
  wrap tutti_reducer_set_compression(self, compression) as set_compression

  !> Has gradients travel as products of two matrices with few columns (PowerSGD). All ranks call it
  !> between the same passes, and it returns when they have. It replaces the hook before it.
  !> `rows`: for each parameter, the rows of its row-major matrix: the last dimension of an array of
  !> Fortran's; 0: it is no matrix, and travels as it is.
  subroutine set_power_sgd(self, rows, options, ierr, errmsg)
    class(tutti_reducer), intent(in) :: self
    integer, intent(in) :: rows(:)
    type(tutti_power_sgd_options), optional, intent(in) :: options
    include "error.inc"
    status = c_tutti_reducer_set_power_sgd(self%handle, int(rows, int64), &
                                           size(rows, kind=c_int64_t), options, error)
    call finish(status, error, ierr, errmsg)
  end subroutine

  !> Lets the reducer go on in another group (absent: the world), mostly one that tutti_shrink_group
  !> has made after the death of a rank. Parameters, options, the hook and the compression stay;
  !> everything else is as after tutti_reducer_create: gradients have moved and are zero. No pass
  !> before counts any more, one that was interrupted or that was not synchronised, so the program
  !> repeats its step from the first forward pass. Ranks that had ended the pass may be one step
  !> ahead of the others: the program makes the parameters equal. All ranks of the group call it,
  !> with the same model; one that has no reducer yet makes one with no_initial_broadcast. It may be
  !> repeated after an error. No other thread may use the reducer meanwhile.
  subroutine shrink(self, group, ierr, errmsg)
    class(tutti_reducer), intent(in) :: self
    type(tutti_group), optional, intent(in) :: group
    include "error.inc"
    status = c_tutti_reducer_shrink(self%handle, group_handle(group), error)
    call finish(status, error, ierr, errmsg)
  end subroutine

  !> The reducer's state and statistics: a map with the keys of torch's _get_ddp_logging_data, whose
  !> times are in nanoseconds. The object is released by the caller.
  wrap tutti_reducer_logging_data(self, object) as logging_data

  !> Gives a reducer back with its gradients, or each of several. No pass may be under way. One that
  !> was released is passed over.
  impure elemental subroutine release(self)
    class(tutti_reducer), intent(inout) :: self
    call c_tutti_reducer_release(self%handle)
    self%handle = 0
  end subroutine
end module tutti_reducers
