//! Groups that are made with no global state.
use crate::error::{c_int, c_text_or_null, check, pointer, Error, Result};
use crate::group::Group;
use crate::init::GroupOptions;
use crate::raw::{self, Status};
use crate::store::Store;
use std::any::Any;
use std::os::raw::c_void;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::ptr::null_mut;

impl Group {
    /// Makes a group with no global state, meeting at a store: several may live in one process,
    /// also several ranks of one group, as threads. Further groups need a prefix store each.
    pub fn create(
        backend: Option<&str>,
        store: &Store,
        rank: usize,
        world_size: usize,
        options: GroupOptions<'_>,
    ) -> Result<Group> {
        let backend = c_text_or_null(backend, "backend")?;
        let (rank, size) = (c_int(rank, "rank")?, c_int(world_size, "world_size")?);
        let description = options.c_description()?;
        let (options, mut group) = (options.to_c()?, null_mut());
        check(|error| unsafe {
            let (backend, store, name) = (pointer(&backend), store.raw(), pointer(&description));
            raw::tutti_group_create(backend, store, name, rank, size, &options, &mut group, error)
        })?;
        member(group)
    }

    /// As [`Group::create`], without a store: the ranks meet by an all-gather of the program's own,
    /// MPI's for instance. It is called once, by this thread; it gets this rank's bytes and
    /// fills in those of all ranks, in their order.
    pub fn create_with_allgather<F>(
        backend: Option<&str>,
        allgather: F,
        rank: usize,
        world_size: usize,
        options: GroupOptions<'_>,
    ) -> Result<Group>
    where
        F: FnMut(&[u8], &mut [u8]) -> Result<()>,
    {
        let backend = c_text_or_null(backend, "backend")?;
        let (rank, size) = (c_int(rank, "rank")?, c_int(world_size, "world_size")?);
        let description = options.c_description()?;
        let (options, mut group) = (options.to_c()?, null_mut());
        let mut gather = Gather { function: allgather, world_size, panic: None };
        let made = check(|error| unsafe {
            let user = (&mut gather as *mut Gather<F>).cast();
            let (backend, call) = (pointer(&backend), Some(allgather_of::<F> as _));
            let (name, options, out) = (pointer(&description), &options, &mut group);
            raw::tutti_group_create_with_allgather(
                backend, call, user, name, rank, size, options, out, error,
            )
        });
        if let Some(panic) = gather.panic {
            resume_unwind(panic);
        }
        made?;
        member(group)
    }
}

/// A group that has just been made.
pub(crate) fn member(group: *mut raw::tutti_group) -> Result<Group> {
    let group = unsafe { Group::adopt(group) };
    group.ok_or_else(|| Error::new(Status::INTERNAL, "a group was made without this rank"))
}

struct Gather<F> {
    function: F,
    world_size: usize,
    panic: Option<Box<dyn Any + Send>>,
}

unsafe extern "C" fn allgather_of<F>(
    input: *const c_void,
    output: *mut c_void,
    size: usize,
    user: *mut c_void,
    error: *mut raw::tutti_error,
) -> Status
where
    F: FnMut(&[u8], &mut [u8]) -> Result<()>,
{
    let gather = &mut *user.cast::<Gather<F>>();
    let input = std::slice::from_raw_parts(input.cast(), size);
    // A slice must be of something, and what C gives need not be.
    output.cast::<u8>().write_bytes(0, size * gather.world_size);
    let output = std::slice::from_raw_parts_mut(output.cast(), size * gather.world_size);
    match catch_unwind(AssertUnwindSafe(|| (gather.function)(input, output))) {
        Ok(Ok(())) => Status::OK,
        Ok(Err(failure)) => {
            failure.write_to(&mut *error);
            match failure.status() {
                Status::OK => Status::INTERNAL,
                status => status,
            }
        }
        Err(panic) => {
            gather.panic = Some(panic);
            Status::ABORTED
        }
    }
}
