//! Operations that run while the caller goes on.
use crate::callback::contained;
use crate::error::{check, static_text, Error, Result, Status};
use crate::outstanding::Outstanding;
use crate::raw;
use crate::timeout::Timeout;
use std::fmt;
use std::mem::transmute;
use std::os::raw::c_void;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::Arc;
use std::time::Duration;

/// C's handle of an operation. Of the calls of a coalescing it is NULL, until all of them have become
/// one operation.
pub(crate) struct Handle(AtomicPtr<raw::tutti_work>);

impl Handle {
    pub(crate) fn new(work: *mut raw::tutti_work) -> Arc<Handle> {
        Arc::new(Handle(AtomicPtr::new(work)))
    }

    pub(crate) fn set(&self, work: *mut raw::tutti_work) {
        self.0.store(work, Ordering::Release);
    }

    pub(crate) fn raw(&self) -> *mut raw::tutti_work {
        self.0.load(Ordering::Acquire)
    }

    pub(crate) fn wait(&self, timeout: Timeout) -> Result<()> {
        let (work, limit) = (self.raw(), timeout.milliseconds());
        if work.is_null() {
            let message = "the coalescing has not ended, or could not be started";
            return Err(Error::argument(message));
        }
        check(|error| unsafe { raw::tutti_work_wait(work, limit, error) })
    }

    /// # Safety
    /// The stream is one of the operation's device, and there.
    pub(crate) unsafe fn synchronize(&self, stream: *mut c_void) -> Result<()> {
        check(|error| raw::tutti_work_synchronize(self.raw(), stream, error))
    }

    pub(crate) fn is_completed(&self) -> bool {
        let mut completed = 0;
        let asked = check(|error| unsafe {
            raw::tutti_work_is_completed(self.raw(), &mut completed, error)
        });
        asked.is_ok() && completed != 0
    }

    pub(crate) fn source_rank(&self) -> Option<usize> {
        let mut rank = -1;
        let asked =
            check(|error| unsafe { raw::tutti_work_source_rank(self.raw(), &mut rank, error) });
        asked.ok().and_then(|()| usize::try_from(rank).ok())
    }

    /// Has a function called when the operation is done.
    pub(crate) fn then(&self, function: Box<dyn FnOnce(Result<()>) + Send>) -> Result<()> {
        let user = Box::into_raw(Box::new(function));
        let asked = check(|error| unsafe {
            raw::tutti_work_then(self.raw(), Some(call_back), user.cast(), None, error)
        });
        if asked.is_err() {
            drop(unsafe { Box::from_raw(user) });
        }
        asked
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        unsafe { raw::tutti_work_release(self.raw()) }
    }
}

unsafe extern "C" fn call_back(result: *const raw::tutti_error, user: *mut c_void) {
    let function = Box::from_raw(user.cast::<Box<dyn FnOnce(Result<()>) + Send>>());
    let result = match (*result).status {
        Status::OK => Ok(()),
        status => Err(Error::from_c(result, status)),
    };
    let _ = contained(|| function(result)); // a panic has nobody else to be told to
}

/// The function that gives back, in the end, what an operation has held.
pub(crate) type Finish<'a, R> = Box<dyn FnOnce(&Handle) -> Result<R> + Send + 'a>;

/// An operation that runs while the caller goes on. It holds the memory that the operation reads
/// and writes, and [`Work::wait`] gives it back with the result in it.
///
/// A work that is dropped goes on, and what it holds is freed when it is done. One that is
/// forgotten goes on too; what it owns is then never freed, and what it borrows is not free before
/// its [`scope`](crate::scope) has ended, which waits for it.
#[must_use = "what the operation holds is given back by wait()"]
pub struct Work<'a, R: 'a> {
    handle: Arc<Handle>,
    finish: Option<Finish<'a, R>>,
    outstanding: Option<Arc<Outstanding>>,
}

// Through a shared reference nobody reaches what a work holds.
unsafe impl<R> Sync for Work<'_, R> {}

impl<'a, R> Work<'a, R> {
    /// Without any, `'a` is `'static`.
    pub(crate) fn new(
        handle: Arc<Handle>,
        finish: Finish<'a, R>,
        outstanding: Option<Arc<Outstanding>>,
    ) -> Work<'a, R> {
        Work { handle, finish: Some(finish), outstanding }
    }

    /// Waits until the operation is done, as long as it may take, and gives back what it has held.
    /// After a failure that is dropped.
    pub fn wait(mut self) -> Result<R> {
        self.handle.wait(Timeout::Default)?;
        let finish = self.finish.take().expect("a work is waited for once");
        finish(&self.handle)
    }

    /// Waits until the operation is done, but no longer than `limit`. If that passes, it fails with
    /// [`Status::PENDING`], the operation goes on, and the wait may be repeated; if the operation
    /// itself fails, with its failure. Several threads may wait.
    pub fn wait_for(&self, limit: Duration) -> Result<()> {
        self.handle.wait(Timeout::After(limit))
    }

    /// Makes a stream of a device wait for the operation, while the caller goes on: what is
    /// enqueued on it later finds the results. NULL: the caller waits, as [`Work::wait`] does. What
    /// the operation holds it still holds, until the work is waited for or dropped.
    ///
    /// # Safety
    /// The stream is one of the device that the memory is on, and there.
    pub unsafe fn synchronize(&self, stream: *mut c_void) -> Result<()> {
        self.handle.synchronize(stream)
    }

    /// Whether the operation is done, successfully or not.
    pub fn is_completed(&self) -> bool {
        self.handle.is_completed()
    }

    /// Whether the operation is done and successful.
    pub fn is_success(&self) -> bool {
        let mut success = 0;
        let asked = check(|error| unsafe {
            raw::tutti_work_is_success(self.handle.raw(), &mut success, error)
        });
        asked.is_ok() && success != 0
    }

    /// The operation's failure (torch: `exception`); nothing while it is running and if it
    /// succeeded.
    pub fn error(&self) -> Option<Error> {
        check(|error| unsafe { raw::tutti_work_error(self.handle.raw(), error) }).err()
    }

    /// The group rank that a finished receive received from.
    pub fn source_rank(&self) -> Option<usize> {
        self.handle.source_rank()
    }

    /// Has a function called once when the operation is done, on a thread of the library that
    /// serves all such functions, one after the other.
    pub fn then(&self, function: impl FnOnce(Result<()>) + Send + 'static) -> Result<()> {
        self.handle.then(Box::new(function))
    }

    /// Cancels a receive that has not begun, which then fails with [`Status::ABORTED`]; whether it
    /// did. What has begun, or is no receive, goes on.
    pub fn cancel(&self) -> Result<bool> {
        let (work, mut cancelled) = (self.handle.raw(), 0);
        check(|error| unsafe { raw::tutti_work_cancel(work, &mut cancelled, error) })?;
        Ok(cancelled != 0)
    }

    /// The kind of the operation, for instance "all_reduce".
    pub fn op_type(&self) -> Option<&'static str> {
        unsafe { static_text(raw::tutti_work_get_op_type(self.handle.raw())) }
    }

    /// Which collective of its group it is, from 1 on, the same on all ranks; 0 for messages.
    pub fn sequence_number(&self) -> Result<u64> {
        let (work, mut number) = (self.handle.raw(), 0);
        check(|error| unsafe { raw::tutti_work_get_sequence_number(work, &mut number, error) })?;
        Ok(number as u64)
    }

    /// How long the operation took; nothing while it is running.
    pub fn duration(&self) -> Option<Duration> {
        let (work, mut took) = (self.handle.raw(), -1.0);
        check(|error| unsafe { raw::tutti_work_get_duration(work, &mut took, error) }).ok()?;
        (took >= 0.0).then(|| Duration::from_secs_f64(took / 1000.0))
    }
}

impl<'a, R> Work<'a, R> {
    /// Keeps what a running operation holds until it is done.
    fn park(&mut self, held: Box<dyn Send + 'a>) {
        if let Some(outstanding) = &self.outstanding {
            // Safety: it is let go of there before 'a ends.
            outstanding.keep(unsafe { transmute::<Box<dyn Send + 'a>, Box<dyn Send>>(held) });
            return;
        }
        // It goes to the thread that calls back, as an address, so that it is not freed if it
        // cannot go there. Nothing in it is borrowed.
        let place = Box::into_raw(Box::new(held)) as usize;
        let free = move |_| drop(unsafe { Box::from_raw(place as *mut Box<dyn Send + 'static>) });
        let _ = self.handle.then(Box::new(free));
    }
}

impl<R> Drop for Work<'_, R> {
    fn drop(&mut self) {
        if let Some(held) = self.finish.take() {
            if !self.handle.is_completed() {
                self.park(Box::new(held));
            }
        }
    }
}

mod sealed {
    pub trait Handled {
        fn handle(&self) -> *mut crate::raw::tutti_work;
    }
}

/// A work, whatever it gives back: for waiting for several. `None` of an `Option` is passed over.
pub trait Pending: sealed::Handled {}

impl<R> Pending for Work<'_, R> {}

impl<R> sealed::Handled for Work<'_, R> {
    fn handle(&self) -> *mut raw::tutti_work {
        self.handle.raw()
    }
}

impl<P: Pending> Pending for Option<P> {}

/// None is passed over.
impl<P: Pending> sealed::Handled for Option<P> {
    fn handle(&self) -> *mut raw::tutti_work {
        self.as_ref().map_or(std::ptr::null_mut(), |work| work.handle())
    }
}

fn handles(works: &[&dyn Pending]) -> Vec<*mut raw::tutti_work> {
    works.iter().map(|work| work.handle()).collect()
}

/// Waits until one of several operations is done, and returns its index. How it ended, its
/// [`Work::error`] says.
pub fn wait_any(works: &[&dyn Pending], timeout: impl Into<Timeout>) -> Result<usize> {
    let (works, limit, mut index) = (handles(works), timeout.into().milliseconds(), 0);
    check(|error| unsafe {
        let (place, count) = (works.as_ptr(), works.len() as i64);
        raw::tutti_work_wait_any(place, count, limit, &mut index, error)
    })?;
    Ok(index as usize)
}

/// Waits until all of several operations are done; the first failure in their order is the result.
pub fn wait_all(works: &[&dyn Pending], timeout: impl Into<Timeout>) -> Result<()> {
    let (works, limit) = (handles(works), timeout.into().milliseconds());
    check(|error| unsafe {
        raw::tutti_work_wait_all(works.as_ptr(), works.len() as i64, limit, error)
    })
}

impl<R> fmt::Debug for Work<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = if self.is_completed() { "done" } else { "running" };
        write!(f, "Work({}, {state})", self.op_type().unwrap_or("coalesced"))
    }
}
