!> A small neural network: 64 pixels, 64 hidden units (tanh), 10 classes (softmax).
module network
  use, intrinsic :: iso_fortran_env, only: int64, real64
  implicit none
  integer, parameter :: pixels = 64, hidden = 64, classes = 10
  !> Weights of each unit in a column, its bias last.
  real(real64), target :: first(pixels + 1, hidden) = 0, second(hidden + 1, classes) = 0
  !> An image in each column with a 1 below, and what it shows.
  real(real64), allocatable :: images(:, :)
  integer, allocatable :: labels(:)
contains
  !> The next of numbers that are the same on every machine: splitmix64, by Sebastiano Vigna.
  integer(int64) function next(state)
    integer(int64), intent(inout) :: state
    state = sum_of(state, -7046029254386353131_int64)
    next = product_of(ieor(state, shiftr(state, 30)), -4658895280553007687_int64)
    next = product_of(ieor(next, shiftr(next, 27)), -7723592293110705685_int64)
    next = ieor(next, shiftr(next, 31))
  end function

  !> Modulo 2^64, by halves of 32 bits.
  pure integer(int64) function sum_of(a, b)
    integer(int64), intent(in) :: a, b
    integer(int64) :: low, high
    low = low_half(a) + low_half(b)
    high = shiftr(a, 32) + shiftr(b, 32) + shiftr(low, 32)
    sum_of = ior(shiftl(high, 32), low_half(low))
  end function

  !> Modulo 2^64, by parts of 16 bits of the second factor.
  pure integer(int64) function product_of(a, b)
    integer(int64), intent(in) :: a, b
    integer(int64) :: part
    integer :: i
    product_of = 0
    do i = 0, 3
      part = iand(shiftr(b, 16 * i), int(z'FFFF', int64))
      product_of = sum_of(product_of, shiftl(low_half(a) * part, 16 * i))
      if (i < 2) product_of = sum_of(product_of, shiftl(shiftr(a, 32) * part, 32 + 16 * i))
    end do
  end function

  pure integer(int64) function low_half(a)
    integer(int64), intent(in) :: a
    low_half = iand(a, int(z'FFFFFFFF', int64))
  end function

  !> The rest of a number without sign.
  pure integer function rest_of(number, divisor)
    integer(int64), intent(in) :: number
    integer, intent(in) :: divisor
    integer(int64) :: high
    high = modulo(shiftr(number, 32), int(divisor, int64))
    rest_of = int(modulo(ior(shiftl(high, 32), low_half(number)), int(divisor, int64)))
  end function

  !> Puts the first images into an order that depends on the state alone.
  subroutine shuffle(order, state)
    integer, intent(inout) :: order(:)
    integer(int64), intent(inout) :: state
    integer :: i, other, held
    do i = size(order), 2, -1
      other = rest_of(next(state), i) + 1
      held = order(i)
      order(i) = order(other)
      order(other) = held
    end do
  end subroutine

  !> Random weights, small enough that no unit starts saturated.
  subroutine initialise(layer, state)
    real(real64), intent(out) :: layer(:, :)
    integer(int64), intent(inout) :: state
    integer :: i, j
    do j = 1, size(layer, 2)
      do i = 1, size(layer, 1)  ! 8: the square root of a unit's inputs
        layer(i, j) = (2 * shiftr(next(state), 11) / 2.0_real64**53 - 1) / 8
      end do
    end do
  end subroutine

  subroutine read_digits(path)
    character(*), intent(in) :: path
    integer :: unit, count, ios, line(pixels + 1)
    open (newunit=unit, file=path, status="old", action="read")
    count = 0
    do
      read (unit, *, iostat=ios) line
      if (ios /= 0) exit
      count = count + 1
    end do
    rewind (unit)
    allocate (images(pixels + 1, count), labels(count))
    do count = 1, size(labels)
      read (unit, *) line
      images(:pixels, count) = line(:pixels) / 16.0_real64
      images(pixels + 1, count) = 1
      labels(count) = line(pixels + 1)
    end do
    close (unit)
  end subroutine

  !> The outputs of the hidden units for images, with a 1 below, and the scores.
  subroutine forward(these, units, scores)
    integer, intent(in) :: these(:)
    real(real64), intent(out) :: units(hidden + 1, size(these)), scores(classes, size(these))
    real(real64) :: inputs(pixels + 1, size(these))
    inputs = images(:, these)
    units(:hidden, :) = tanh(matmul(transpose(first), inputs))
    units(hidden + 1, :) = 1
    scores = matmul(transpose(second), units)
  end subroutine

  !> The loss (cross entropy) of images; scores become its gradient by them.
  real(real64) function loss_of(these, scores)
    integer, intent(in) :: these(:)
    real(real64), intent(inout) :: scores(:, :)
    integer :: i, label
    loss_of = 0
    do i = 1, size(these)
      label = labels(these(i)) + 1
      scores(:, i) = exp(scores(:, i) - maxval(scores(:, i)))  ! so that exp does not overflow
      scores(:, i) = scores(:, i) / sum(scores(:, i))
      loss_of = loss_of - log(scores(label, i))
      scores(label, i) = scores(label, i) - 1
    end do
  end function
end module network

!> Data-parallel training: the ranks share the images of every batch, and a reducer adds up their
!> gradients, those of the last layer while the first one's are computed. All ranks then take the
!> same step, so their weights stay the same without being sent. Start it with
!>     tuttirun --nproc-per-node 4 fortran_train_digits FILE
program train_digits
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use network
  use tutti
  implicit none
  integer, parameter :: epochs = 20, batch_size = 64
  real(real64), parameter :: rate = 0.1_real64, momentum = 0.9_real64
  real(real64) :: first_speed(pixels + 1, hidden) = 0, second_speed(hidden + 1, classes) = 0
  type(tutti_reducer_options) :: options
  type(tutti_reducer) :: reducer
  integer, allocatable :: order(:)
  integer(int64) :: state, own_state
  integer :: epoch, start, i, training
  real(real64) :: loss(1), right(1)
  character(1000) :: path

  call get_command_argument(1, path)
  call read_digits(trim(path))
  state = 1998
  own_state = state
  order = [(i, i=1, size(labels))]
  call shuffle(order, state)
  training = size(order) * 4 / 5
  call tutti_init_process_group()
  if (tutti_get_rank() == 0) then
    call initialise(first, own_state)
    call initialise(second, own_state)
  end if
  options%sum = 1  ! the ranks' parts of a batch differ in size
  options%first_bucket_cap_bytes = size(second) * 8
  call tutti_reducer_create([tutti_buffer_of(first), tutti_buffer_of(second)], reducer, &
                            ["first layer ", "second layer"], options=options)
  do epoch = 1, epochs
    call shuffle(order(:training), state)
    loss = 0
    do start = 1, training, batch_size
      call train_batch(order(start:min(start + batch_size - 1, training)), loss(1))
    end do
    call tutti_all_reduce(loss)
    call count_right(order(training + 1:), right(1))
    call tutti_all_reduce(right)
    right = 100 * right / (size(order) - training)
    if (tutti_get_rank() == 0) &
      print '(a, i2, a, f0.6, a, f0.2, a)', "epoch ", epoch, ": loss ", loss / training, &
      ", test accuracy ", right, " %"
  end do
  if (tutti_get_rank() == 0) print '(a, f0.2, a)', "test accuracy: ", right, " %"
  call reducer%release()
  call tutti_destroy_process_group()
contains
  !> This rank's part of some images.
  subroutine share(all, part)
    integer, intent(in) :: all(:)
    integer, allocatable, intent(out) :: part(:)
    integer :: rank, ranks
    rank = tutti_get_rank()
    ranks = tutti_get_world_size()
    allocate (part, source=all(size(all) * rank / ranks + 1:size(all) * (rank + 1) / ranks))
  end subroutine

  !> One step on one batch; adds the loss of this rank's images.
  subroutine train_batch(batch, loss)
    integer, intent(in) :: batch(:)
    real(real64), intent(inout) :: loss
    integer, allocatable :: these(:)
    real(real64), allocatable :: units(:, :), scores(:, :), inputs(:, :), by_units(:, :)
    real(real64), pointer :: sums(:)

    call share(batch, these)
    allocate (inputs, source=images(:, these))
    allocate (units(hidden + 1, size(these)), scores(classes, size(these)))
    call forward(these, units, scores)
    loss = loss + loss_of(these, scores)
    call reducer%begin()
    call reducer%gradient(2, sums)
    sums = reshape(matmul(units, transpose(scores)), [size(second)])
    call reducer%mark_ready(2)
    allocate (by_units, source=matmul(second, scores) * (1 - units**2))
    call reducer%gradient(1, sums)
    sums = reshape(matmul(inputs, transpose(by_units(:hidden, :))), [size(first)])
    call reducer%mark_ready(1)
    call reducer%finish()
    call step(1, first, first_speed, size(batch))
    call step(2, second, second_speed, size(batch))
  end subroutine

  subroutine step(layer, weights, speed, count)
    integer, intent(in) :: layer, count
    real(real64), intent(inout) :: weights(:, :), speed(:, :)
    real(real64), pointer :: sums(:)
    call reducer%gradient(layer, sums)
    speed = momentum * speed - rate / count * reshape(sums, shape(speed))
    weights = weights + speed
  end subroutine

  subroutine count_right(tests, right)
    integer, intent(in) :: tests(:)
    real(real64), intent(out) :: right
    integer, allocatable :: these(:)
    real(real64), allocatable :: units(:, :), scores(:, :)
    call share(tests, these)
    allocate (units(hidden + 1, size(these)), scores(classes, size(these)))
    call forward(these, units, scores)
    right = count(maxloc(scores, 1) - 1 == labels(these))
  end subroutine
end program train_digits
