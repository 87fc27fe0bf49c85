!> Checks that name themselves when they fail.
module checks
  use, intrinsic :: iso_fortran_env, only: error_unit
  implicit none
  private
  public :: check, check_status, check_message, passed

  !> check(holds, what): of a list, all must hold.
  interface check
    module procedure check_one, check_all
  end interface

  integer :: count = 0
contains
  subroutine check_all(hold, what)
    logical, intent(in) :: hold(:)
    character(*), intent(in) :: what
    call check_one(all(hold), what)
  end subroutine

  subroutine check_one(holds, what)
    logical, intent(in) :: holds
    character(*), intent(in) :: what
    count = count + 1
    if (holds) return
    write (error_unit, '(2a)') "FAILED: ", what
    error stop 1
  end subroutine

  !> Whether a call ended with the status that was expected.
  subroutine check_status(status, expected, what)
    use tutti, only: tutti_status_name
    integer, intent(in) :: status, expected
    character(*), intent(in) :: what
    call check(status == expected, what // ": " // tutti_status_name(status) // ", not " // &
               tutti_status_name(expected))
  end subroutine

  !> Whether a message has a part.
  subroutine check_message(message, part)
    character(*), intent(in) :: message, part
    call check(index(message, part) > 0, "'" // part // "' in '" // trim(message) // "'")
  end subroutine

  subroutine passed()
    call check(count > 0, "there are checks")
    print '(i0, a)', count, " checks passed"
  end subroutine
end module checks
