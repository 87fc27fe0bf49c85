//! A backward pass: gradients, each with who may write it, and the end.
use crate::bucket::{empty_bucket, Bucket};
use crate::device::DeviceSlice;
use crate::element::Element;
use crate::error::{check, Error, Result};
use crate::memory::CBuffer;
use crate::raw;
use crate::reducer::{c_indices, Reducer};
use crate::timeout::Timeout;
use crate::work::Handle;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::os::raw::c_void;
use std::ptr::{null, null_mut};
use std::sync::{Arc, Mutex, PoisonError};

/// A backward pass that has begun ([`Reducer::begin`]). Several threads may share it.
pub struct Pass<'r, 'g> {
    reducer: &'r mut Reducer,
    synchronise: bool,
    own: Mutex<Vec<CopyBack<'g>>>,
}

/// Gives a gradient of the program's own the result.
type CopyBack<'g> = Box<dyn FnOnce(&Reducer) -> Result<()> + Send + 'g>;

impl<'r, 'g> Pass<'r, 'g> {
    pub(crate) fn new(reducer: &'r mut Reducer, synchronise: bool) -> Self {
        Pass { reducer, synchronise, own: Mutex::default() }
    }

    /// Where the reducer has the gradient of a parameter, to be computed there. It is of one thread
    /// at a time, and cannot be had again once it is ready.
    ///
    /// ```compile_fail,E0505
    /// # let mut reducer = tutti::Reducer::new(&tutti::world()?, &[], &Default::default())?;
    /// let pass = reducer.begin(true)?;
    /// let mut gradient = pass.gradient::<f32>(0)?;
    /// pass.finish()?; // every rank writes the gradient
    /// gradient[0] = 1.0;
    /// # Ok::<(), tutti::Error>(())
    /// ```
    pub fn gradient<T: Element>(&self, parameter: usize) -> Result<Gradient<'_, T>> {
        let taken = self.take(parameter)?;
        let values = unsafe { self.reducer.place(parameter) }?;
        Ok(Gradient { values, taken })
    }

    /// Where the reducer has the gradient of a parameter on a device. [`Pass::mark_ready`] says that
    /// all that computes it is enqueued.
    ///
    /// # Safety
    /// As for [`DeviceSlice::new`]: what uses the slice is done, or enqueued on the program's stream,
    /// before the parameter is marked and before the pass ends.
    pub unsafe fn device_gradient<T: Element>(&self, parameter: usize) -> Result<DeviceSlice<T>> {
        self.reducer.device_place(parameter)
    }

    /// Says that the gradient of a parameter is complete in its place, as [`Gradient::ready`] does.
    pub fn mark_ready(&self, parameter: usize) -> Result<()> {
        self.take(parameter)?.mark(null())
    }

    /// The same of a gradient in the program's own memory. It is copied to its place here, and the
    /// result is copied back when the pass ends, if the pass is synchronised and a rank had a
    /// gradient. A program that accumulates gives all that it has accumulated.
    pub fn mark_ready_from<T: Element>(&self, parameter: usize, own: &'g mut [T]) -> Result<()> {
        let mut place = self.gradient::<T>(parameter)?;
        if place.len() != own.len() {
            let (given, needed) = (own.len(), place.len());
            let message = format!("own has {given} elements, and parameter {parameter} {needed}");
            return Err(Error::argument(message));
        }
        place.copy_from_slice(own);
        place.ready()?;
        let copy_back = move |reducer: &Reducer| {
            if reducer.is_used(parameter) {
                own.copy_from_slice(reducer.gradient(parameter)?);
            }
            Ok(())
        };
        if self.synchronise {
            let mut list = self.own.lock().unwrap_or_else(PoisonError::into_inner);
            list.push(Box::new(copy_back));
        }
        Ok(())
    }

    /// The same of a gradient in the program's own memory on a device: all that computes it is
    /// enqueued. The reducer has it until a synchronised pass has ended and its result is there.
    pub fn mark_ready_from_device<T: Element>(
        &self,
        parameter: usize,
        own: DeviceSlice<T>,
    ) -> Result<()> {
        self.take(parameter)?.mark(&own.buffer())
    }

    /// Says early that parameters get no gradient in this pass.
    pub fn mark_unused(&self, parameters: &[usize]) -> Result<()> {
        let taken = parameters.iter().map(|&one| self.take(one)).collect::<Result<Vec<_>>>()?;
        let indices = c_indices(parameters);
        check(|error| unsafe {
            let (first, count) = (indices.as_ptr(), indices.len() as i64);
            raw::tutti_reducer_mark_unused(self.reducer.raw(), first, count, error)
        })?;
        taken.into_iter().try_for_each(Taken::note)
    }

    /// Ends the pass, and returns when all buckets are reduced, or enqueued if the group of the reducer
    /// had a stream. Every rank then has the same gradients, if the pass was synchronised. Parameters
    /// without a mark get no gradient from this rank; if options do not allow that, all ranks get
    /// [`Status::MISMATCH`](crate::Status::MISMATCH) with their names.
    pub fn finish(self) -> Result<()> {
        let (reducer, synchronise) = (self.reducer, self.synchronise);
        check(|error| unsafe { raw::tutti_reducer_finish(reducer.raw(), null_mut(), error) })?;
        reducer.end_pass(synchronise, None);
        copy_all_back(reducer, self.own)
    }

    /// Ends the pass, and returns at once.
    pub fn start_finish(self) -> Result<Finishing<'r, 'g>> {
        let (reducer, mut work) = (self.reducer, null_mut());
        check(|error| unsafe { raw::tutti_reducer_finish(reducer.raw(), &mut work, error) })?;
        let handle = Handle::new(work);
        reducer.end_pass(self.synchronise, Some(handle.clone()));
        Ok(Finishing { reducer, handle, own: self.own })
    }

    fn take(&self, parameter: usize) -> Result<Taken<'_>> {
        let mut slot = self.reducer.slot(parameter)?;
        let refuse = |why| Err(Error::argument(format!("parameter {parameter} {why}")));
        if slot.is_taken {
            return refuse("is being computed: its gradient is in use");
        }
        if slot.marks >= slot.most_marks {
            return refuse("was marked before in this pass");
        }
        slot.is_taken = true;
        Ok(Taken { reducer: self.reducer, parameter })
    }
}

fn copy_all_back(reducer: &Reducer, own: Mutex<Vec<CopyBack<'_>>>) -> Result<()> {
    let list = own.into_inner().unwrap_or_else(PoisonError::into_inner);
    list.into_iter().try_for_each(|copy_back| copy_back(reducer))
}

impl fmt::Debug for Pass<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pass({:?}, synchronised: {})", self.reducer, self.synchronise)
    }
}

/// A parameter whose gradient somebody writes.
struct Taken<'p> {
    reducer: &'p Reducer,
    parameter: usize,
}

impl Taken<'_> {
    /// NULL: the gradient is in its place.
    fn mark(self, own: *const CBuffer) -> Result<()> {
        check(|error| unsafe {
            let index = self.parameter as i64;
            raw::tutti_reducer_mark_ready(self.reducer.raw(), index, own, error)
        })?;
        self.note()
    }

    /// C has been told, so the gradient is the reducer's.
    fn note(self) -> Result<()> {
        self.reducer.slot(self.parameter)?.marks += 1;
        Ok(())
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        if let Ok(mut slot) = self.reducer.slot(self.parameter) {
            slot.is_taken = false;
        }
    }
}

/// The gradient of a parameter that is being computed: a slice in the reducer's memory. Dropped, it
/// is not ready, and may be had again.
pub struct Gradient<'p, T> {
    values: &'p mut [T],
    taken: Taken<'p>,
}

impl<T> Gradient<'_, T> {
    /// Says that it is complete: it belongs to the reducer until the pass has ended.
    pub fn ready(self) -> Result<()> {
        self.taken.mark(null())
    }
}

impl<T> Deref for Gradient<'_, T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        self.values
    }
}

impl<T> DerefMut for Gradient<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.values
    }
}

impl<T: fmt::Debug> fmt::Debug for Gradient<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

/// A pass that has ended on this rank, and whose buckets are being reduced
/// ([`Pass::start_finish`]). Dropped, it goes on; gradients of the program's own then stay as they
/// are.
#[must_use = "wait() tells whether the gradients are reduced"]
pub struct Finishing<'r, 'g> {
    reducer: &'r mut Reducer,
    handle: Arc<Handle>,
    own: Mutex<Vec<CopyBack<'g>>>,
}

impl Finishing<'_, '_> {
    /// The next bucket whose gradients are reduced, when it is: an optimizer may update its
    /// parameters while later ones travel. Nothing after the last one, and in a pass that is not
    /// synchronised. [`Status::PENDING`](crate::Status::PENDING) says that the reducer's timeout has
    /// passed, and the pass goes on.
    pub fn next_bucket(&mut self) -> Result<Option<Bucket<'_>>> {
        let mut bucket = empty_bucket();
        check(|error| unsafe {
            raw::tutti_reducer_next_bucket(self.reducer.raw(), &mut bucket, error)
        })?;
        Ok((bucket.index >= 0).then(|| unsafe { Bucket::new(bucket) }))
    }

    /// Whether all buckets are reduced, or the pass has failed.
    pub fn is_completed(&self) -> bool {
        self.handle.is_completed()
    }

    /// Makes a stream of the device wait until all buckets are reduced, as
    /// [`Work::synchronize`](crate::Work::synchronize) does.
    ///
    /// # Safety
    /// The stream is one of the device that the gradients are on, and there.
    pub unsafe fn synchronize(&self, stream: *mut c_void) -> Result<()> {
        self.handle.synchronize(stream)
    }

    /// Waits until all buckets are reduced.
    pub fn wait(self) -> Result<()> {
        self.handle.wait(Timeout::Default)?;
        copy_all_back(self.reducer, self.own)
    }
}

impl fmt::Debug for Finishing<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = if self.is_completed() { "done" } else { "running" };
        write!(f, "Finishing({:?}, {state})", self.reducer)
    }
}
