//! Collectives that are collected first, and done as one operation.
use crate::device::Device;
use crate::error::{check, Error, Result, Status};
use crate::group::{Call, Group};
use crate::raw;
use crate::start::Start;
use crate::work::{Handle, Work};
use std::mem::size_of;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::ptr::{null, null_mut};
use std::sync::Arc;

impl<'a> Start<'a> {
    /// Collects the collectives that a function starts on what it is given, and does them as one
    /// operation, with fewer messages where they are short and alike. Their works are done when the
    /// one that is returned is. Other calls on the group work as ever meanwhile.
    ///
    /// ```no_run
    /// # let world = tutti::world()?;
    /// let (mut a, mut b) = ([1.0_f32; 4], [2.0_f32; 4]);
    /// tutti::scope(|scope| {
    ///     let (_, all) = scope.start(&world).coalesce(|together| {
    ///         drop(together.all_reduce(&mut a, tutti::ReduceOp::SUM)?);
    ///         drop(together.all_reduce(&mut b, tutti::ReduceOp::SUM)?);
    ///         Ok(())
    ///     })?;
    ///     all.wait()
    /// })?;
    /// # Ok::<(), tutti::Error>(())
    /// ```
    pub fn coalesce<R>(
        &self,
        function: impl FnOnce(&Start<'a>) -> Result<R>,
    ) -> Result<(R, Work<'a, ()>)> {
        self.coalesce_where(None, function)
    }

    /// As [`Start::coalesce`], of collectives whose memory is on a device.
    pub fn coalesce_on<R>(
        &self,
        device: Device,
        function: impl FnOnce(&Start<'a>) -> Result<R>,
    ) -> Result<(R, Work<'a, ()>)> {
        self.coalesce_where(Some(device), function)
    }

    fn coalesce_where<R>(
        &self,
        device: Option<Device>,
        function: impl FnOnce(&Start<'a>) -> Result<R>,
    ) -> Result<(R, Work<'a, ()>)> {
        if self.coalesced.is_some() {
            return Err(Error::argument("a coalescing cannot be in another one"));
        }
        let outstanding = self.outstanding.clone().unwrap_or_default();
        let handle = Handle::new(null_mut());
        let mut collecting = Collecting::begin(self.group(), device, handle.clone())?;
        outstanding.add(&handle);
        let together = Start::collecting(collecting.calls(), outstanding.clone(), handle.clone());
        let result = catch_unwind(AssertUnwindSafe(|| function(&together)));
        let ended = collecting.end();
        // Whatever comes now, this work keeps what is held until all is done.
        let held = self.outstanding.is_none().then_some(outstanding);
        let work = Work::new(handle, Box::new(move |_| drop_held(held)), self.outstanding.clone());
        let result = result.unwrap_or_else(|panic| resume_unwind(panic));
        ended?;
        Ok((result?, work))
    }
}

fn drop_held<K>(kept: K) -> Result<()> {
    drop(kept);
    Ok(())
}

fn options_on(device: Device) -> Result<raw::tutti_coalescing_options> {
    Ok(raw::tutti_coalescing_options {
        struct_size: size_of::<raw::tutti_coalescing_options>() as u32,
        device_type: device.kind,
        device_index: device.c_index()?,
        reserved: 0,
    })
}

/// A coalescing. It ends in any case, also by a panic, and what was collected is then done.
struct Collecting<'g> {
    group: &'g Group,
    calls: Group, // C's handle, which takes the calls
    handle: Arc<Handle>,
    ended: bool,
}

impl<'g> Collecting<'g> {
    fn begin(
        group: &'g Group,
        device: Option<Device>,
        handle: Arc<Handle>,
    ) -> Result<Collecting<'g>> {
        let (options, mut calls) = (device.map(options_on).transpose()?, null_mut());
        let options = options.as_ref().map_or(null(), |options| options as *const _);
        check(|error| unsafe {
            raw::tutti_coalescing_begin(group.raw(), options, &mut calls, error)
        })?;
        let gone = || Error::new(Status::ABORTED, "the group was destroyed");
        let calls = unsafe { Group::adopt(calls) }.ok_or_else(gone)?;
        Ok(Collecting { group, calls, handle, ended: false })
    }

    fn calls(&self) -> Group {
        self.calls.with_object_options(*self.group.object_options())
    }

    fn end(&mut self) -> Result<()> {
        self.ended = true;
        let calls = self.calls.raw();
        let end = |call: &Call| unsafe {
            raw::tutti_coalescing_end(calls, call.options, call.work, call.error)
        };
        let mut work = null_mut();
        let mut ended = self.group.call(end, &mut work);
        if ended.is_err() {
            // Options that are refused must not leave calls behind.
            ended = self.group.plain().call(end, &mut work).and(ended);
        }
        self.handle.set(work);
        ended
    }
}

impl Drop for Collecting<'_> {
    fn drop(&mut self) {
        if !self.ended {
            let _ = self.end();
        }
    }
}
