//! A function in several processes, with no launcher.
use crate::buffer;
use crate::callback::contained;
use crate::error::{check, Error, Result, Status};
use crate::raw;
use crate::timeout::Timeout;
use crate::work::{Handle, Work};
use std::error;
use std::io::{stderr, stdout, Write};
use std::marker::PhantomData;
use std::mem::size_of;
use std::os::raw::c_void;
use std::ptr::null_mut;

/// Options of [`spawn`].
#[derive(Clone, Copy, Debug, Default)]
pub struct SpawnOptions {
    /// The processes get the caller's environment as it is, and no store is served for them.
    pub keep_environment: bool,
    /// The limit of the processes' whole life; none if it is not given.
    pub timeout: Timeout,
    /// From SIGTERM to SIGKILL where processes are ended; 5 seconds if it is not given.
    pub grace_period: Timeout,
}

/// Processes that run; [`Spawned::wait`] waits for them. They end with the thread that made them,
/// so this stays there.
#[derive(Debug)]
pub struct Spawned {
    work: Work<'static, ()>,
    thread: PhantomData<*mut ()>,
}

impl Spawned {
    /// Waits until all have ended. The first that failed is the error: its rank, and how.
    pub fn wait(self) -> Result<()> {
        self.work.wait()
    }

    /// Whether all have ended.
    pub fn is_completed(&self) -> bool {
        self.work.is_completed()
    }
}

/// Runs a function in so many new processes of this machine, and waits for all. Each gets its
/// number, and finds its place in the environment:
/// [`init_process_group`](crate::init_process_group) makes them one group. The first that fails, by
/// its error, a panic, an exit code or a signal, ends the others and is the error.
///
/// The processes are made by fork: at the call this process holds nothing of tutti, and it is best
/// made before any thread is started, for what other threads hold locked stays so in the copies.
pub fn spawn<F, E>(nprocs: usize, options: &SpawnOptions, function: F) -> Result<()>
where
    F: FnMut(usize) -> std::result::Result<(), E>,
    E: Into<Box<dyn error::Error>>,
{
    start(nprocs, options, function, null_mut())
}

/// As [`spawn`], while the caller goes on.
pub fn spawn_and_go_on<F, E>(nprocs: usize, options: &SpawnOptions, function: F) -> Result<Spawned>
where
    F: FnMut(usize) -> std::result::Result<(), E>,
    E: Into<Box<dyn error::Error>>,
{
    let mut work = null_mut();
    start(nprocs, options, function, &mut work)?;
    let work = Work::new(Handle::new(work), Box::new(|_| Ok(())), None);
    Ok(Spawned { work, thread: PhantomData })
}

fn start<F, E>(
    nprocs: usize,
    options: &SpawnOptions,
    mut function: F,
    work: *mut *mut raw::tutti_work,
) -> Result<()>
where
    F: FnMut(usize) -> std::result::Result<(), E>,
    E: Into<Box<dyn error::Error>>,
{
    let options = raw::tutti_spawn_options {
        struct_size: size_of::<raw::tutti_spawn_options>() as u32,
        keep_environment: options.keep_environment.into(),
        timeout_ms: options.timeout.milliseconds(),
        grace_period_ms: options.grace_period.milliseconds(),
    };
    let count = crate::error::c_int(nprocs, "nprocs")?;
    refuse_buffers()?;
    let _ = stdout().flush(); // else each process has a copy of what is written later
    check(|error| unsafe {
        let user = (&mut function as *mut F).cast();
        raw::tutti_spawn(Some(process::<F, E>), user, count, &options, work, error)
    })
}

/// Touching one would end the process that was made.
fn refuse_buffers() -> Result<()> {
    match buffer::living() {
        0 => Ok(()),
        count => Err(Error::new(
            Status::UNSUPPORTED,
            format!("spawn: {count} of Group::alloc's buffers are still there; drop them first"),
        )),
    }
}

/// One of the processes, which has a copy of all memory.
unsafe extern "C" fn process<F, E>(
    local_rank: i32,
    user: *mut c_void,
    error: *mut raw::tutti_error,
) -> Status
where
    F: FnMut(usize) -> std::result::Result<(), E>,
    E: Into<Box<dyn error::Error>>,
{
    let function = &mut *user.cast::<F>();
    let result = contained(|| function(local_rank as usize).map_err(failure));
    let result = result.unwrap_or_else(|panic| {
        let message = format!("the function, or what it returned, panicked: {panic}");
        Err(Error::new(Status::INTERNAL, message))
    });
    let _ = (stdout().flush(), stderr().flush());
    result.map_or_else(
        |failure| {
            failure.write_to(&mut *error);
            failure.status()
        },
        |()| Status::OK,
    )
}

/// A process's failure, as tutti has them.
fn failure<E: Into<Box<dyn error::Error>>>(failure: E) -> Error {
    match failure.into().downcast::<Error>() {
        Ok(failure) if failure.status() != Status::OK => *failure,
        Ok(failure) => Error::new(Status::INTERNAL, failure.message()),
        Err(failure) => Error::new(Status::INTERNAL, failure.to_string()),
    }
}
