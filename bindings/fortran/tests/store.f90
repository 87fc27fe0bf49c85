!> Stores: every call, texts and bytes, what blanks become.
program store_test
  use, intrinsic :: iso_fortran_env, only: int8, int64
  use checks
  use tutti
  implicit none
  type(tutti_store) :: hash, view, tcp, client

  call tutti_hash_store_create(hash)
  call values(hash)
  call counters_and_keys(hash)
  call queues(hash)
  call waits(hash)
  call prefixes(hash)
  call files()

  call tutti_tcp_store_create("localhost", 0, tcp, is_master=.true., wait_for_workers=.false.)
  call connected()
  call values(client)
  call queues(client)
  call client%release()
  call tcp%release()
  call hash%release()
  call released()
  call passed()
contains
  subroutine values(store)
    type(tutti_store), intent(in) :: store
    character(:), allocatable :: text
    integer(int8), allocatable :: bytes(:)
    character(20) :: padded

    padded = "key"
    call store%set(padded, "value   ")
    call store%get("key", text)
    call check(text == "value" .and. len(text) == 5, "a text loses its trailing blanks")
    call store%set("ü", "grüße")
    call store%get("ü", text)
    call check(text == "grüße", "UTF-8 passes")
    call store%set("none", "")
    call store%get("none", text)
    call check(len(text) == 0, "an empty text")

    call store%set("bytes", [0_int8, -1_int8, 32_int8])
    call store%get("bytes", bytes)
    call check(size(bytes) == 3 .and. all(bytes == [0_int8, -1_int8, 32_int8]), "bytes are exact")
    call store%set("nothing", [integer(int8) ::])
    call store%get("nothing", bytes)
    call check(size(bytes) == 0, "no bytes")

    call store%set("log", "one")
    call store%append("log", ",two")
    call store%append("log", [44_int8])
    call store%get("log", text)
    call check(text == "one,two,", "what is appended")

    call store%compare_set("lock", "", "mine", text)
    call check(text == "mine", "compare_set of a new key")
    call store%compare_set("lock", "yours", "his", text)
    call check(text == "mine", "compare_set with another value")
    call store%compare_set("lock", [109_int8, 105_int8, 110_int8, 101_int8], [1_int8], bytes)
    call check(all(bytes == [1_int8]), "compare_set of bytes")
  end subroutine

  subroutine counters_and_keys(store)
    type(tutti_store), intent(in) :: store
    integer(int64) :: wide
    integer :: now, keys, status
    character(100) :: message
    logical :: found
    type(tutti_text), allocatable :: texts(:)
    integer :: i

    call store%add("counter", 5, now)
    call store%add("counter", -2)
    call store%add("counter", 2_int64**40, wide)
    call check(now == 5 .and. wide == 2_int64**40 + 3, "counters")
    call store%add("counter", 0, now, status, message)
    call check_status(status, TUTTI_ERR_INVALID_ARGUMENT, "a counter beyond 32 bits")
    call check_message(message, "value")
    call store%add("lowest", -huge(now) - 1, now)
    call check(now < 0 .and. now + 1 == -huge(now), "a counter of -2^31")
    call store%delete_key("lowest")

    call store%check(["counter", "missing"], found)
    call check(.not. found, "a key is missing")
    call store%check([character(7) :: "counter", "log"], found)
    call check(found, "both keys are there")

    call store%multi_set([character(3) :: "a", "bcd"], [character(9) :: "first", "the other"])
    call store%multi_get([character(3) :: "bcd", "a"], texts)
    call check(size(texts) == 2, "two values")
    call check(texts(1)%text == "the other" .and. texts(2)%text == "first", "several values")
    call store%multi_set(["a"], ["b", "c"], status, message)
    call check_message(message, "values must be as many as keys")

    call store%num_keys(keys)
    call store%list_keys(texts)
    call check(size(texts) == keys, "all keys are listed")
    call check(any([(texts(i)%text == "counter", i=1, keys)]), "one by its name")
    call check(any([(texts(i)%text == "bcd", i=1, keys)]), "another by its name")
    call store%delete_key("a", found)
    call check(found, "deleted")
    call store%delete_key("a", found)
    call check(.not. found, "deleted once")
  end subroutine

  subroutine queues(store)
    type(tutti_store), intent(in) :: store
    character(:), allocatable :: text
    integer(int8), allocatable :: bytes(:)
    integer :: length, status

    call store%queue_push("queue", "one")
    call store%queue_push("queue", [2_int8])
    call store%queue_len("queue", length)
    call check(length == 2, "a queue of two")
    call store%queue_pop("queue", text)
    call store%queue_pop("queue", bytes, block=.false.)
    call check(text == "one" .and. all(bytes == [2_int8]), "first in, first out")
    call store%queue_pop("queue", text, block=.false., ierr=status)
    call check_status(status, TUTTI_ERR_QUEUE_EMPTY, "an empty queue")
  end subroutine

  subroutine waits(store)
    type(tutti_store), intent(in) :: store
    type(tutti_store) :: other
    character(:), allocatable :: text
    integer :: status, timeout
    character(200) :: message
    logical :: extended

    call store%wait(["counter"])
    call store%wait(["nowhere"], timeout_ms=20, ierr=status, errmsg=message)
    call check_status(status, TUTTI_ERR_TIMEOUT, "a wait")
    call check_message(message, "nowhere")
    call store%barrier("alone", 1)
    call store%get("nowhere", text, timeout_ms=20, ierr=status)
    call check_status(status, TUTTI_ERR_TIMEOUT, "a get with a timeout of its own")
    call store%queue_pop("nowhere", text, timeout_ms=20, ierr=status)
    call check_status(status, TUTTI_ERR_TIMEOUT, "a pop with a timeout of its own")
    call store%flush()
    call store%interrupt()
    call store%wait(["counter"])
    call store%clone(other, timeout_ms=4321)
    call other%get_timeout(timeout)
    call check(timeout == 4321, "a clone has the timeout that it was made with")
    call other%set_timeout(1234)
    call other%get_timeout(timeout)
    call check(timeout == 1234, "a clone has its own timeout")
    call other%set_timeout(TUTTI_NO_TIMEOUT)
    call other%get_timeout(timeout)
    call check(timeout == TUTTI_NO_TIMEOUT, "no timeout")
    call other%has_extended_api(extended)
    call check(extended, "the extended calls are there")
    call other%release()
  end subroutine

  subroutine prefixes(store)
    type(tutti_store), intent(in) :: store
    type(tutti_store) :: under
    character(:), allocatable :: text

    call tutti_prefix_store_create(store, "run", view)
    call view%set("key", "here")
    call store%get("run/key", text)
    call check(text == "here", "a prefix and a slash")
    call view%underlying_store(under)
    call under%get("run/key", text)
    call check(text == "here", "the store under it")
    call under%release()
    call view%release()
  end subroutine

  subroutine files()
    type(tutti_store) :: file
    character(:), allocatable :: name, text
    character(200) :: folder
    integer :: length

    call get_environment_variable("TMPDIR", folder, length)
    if (length == 0) folder = "/tmp"
    call execute_command_line("mktemp -u -p " // trim(folder) // " > fortran_store_name.txt")
    open (unit=7, file="fortran_store_name.txt")
    read (7, '(a)') folder
    close (7, status="delete")
    call tutti_file_store_create(folder, file, world_size=1, timeout_ms=20000)
    call file%get_timeout(length)
    call check(length == 20000, "it has the timeout that it was made with")
    call file%set("key", "kept")
    call file%get("key", text)
    call file%path(name)
    call check(text == "kept" .and. name == trim(folder), "a store in a file")
    call file%release()
    call of_a_library(trim(folder) // ".keys")
  end subroutine

  subroutine of_a_library(folder)
    character(*), intent(in) :: folder
    type(tutti_store) :: store
    integer :: status
    character(200) :: message

    call tutti_store_open("folder", store, folder, timeout_ms=20000)
    call values(store)
    call queues(store)
    call store%release()
    call execute_command_line("rm -r " // folder)
    call tutti_store_open("pigeon", store, ierr=status, errmsg=message)
    call check_status(status, TUTTI_ERR_UNSUPPORTED, "the store of a library that is not there")
  end subroutine

  subroutine connected()
    character(:), allocatable :: host
    integer :: port, status
    character(200) :: message

    call tcp%port(port)
    call tcp%host(host)
    call check(port > 0 .and. host == "localhost", "where the store is served")
    call tutti_tcp_store_create(host, port, client, timeout_ms=20000)
    call hash%port(port, status, message)
    call check_status(status, TUTTI_ERR_INVALID_ARGUMENT, "the port of a hash store")
  end subroutine

  !> Two stores in an array are released at once; released ones are errors.
  subroutine released()
    type(tutti_store) :: several(2)
    integer :: status

    call tutti_hash_store_create(several(1))
    call tutti_hash_store_create(several(2))
    call several%release()
    call several%release()
    call hash%set("key", "value", status)
    call check_status(status, TUTTI_ERR_INVALID_HANDLE, "a store that was released")
  end subroutine
end program store_test
