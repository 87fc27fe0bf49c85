//! Collectives that are gathered, and done as one operation.
use crate::error::{check, Error, Result};
use crate::gate::Gate;
use crate::group::{Call, Group};
use crate::raw;
use crate::start::Start;
use crate::work::{Handle, Work};
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::ptr::null_mut;
use std::sync::Arc;

impl<'a> Start<'a> {
    /// Gathers the collectives that a function starts, and does them as one operation, with fewer
    /// messages where they are short and alike. Their works are done when the one that is returned
    /// is. Nothing else may call a collective of the group meanwhile, and none with a timeout.
    ///
    /// ```no_run
    /// # let world = tutti::world()?;
    /// let (mut a, mut b) = ([1.0_f32; 4], [2.0_f32; 4]);
    /// tutti::scope(|scope| {
    ///     let (_, all) = scope.start(&world).coalesce(|gather| {
    ///         drop(gather.all_reduce(&mut a, tutti::ReduceOp::SUM)?);
    ///         drop(gather.all_reduce(&mut b, tutti::ReduceOp::SUM)?);
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
        if self.gathered.is_some() {
            return Err(Error::argument("the group's calls are being gathered already"));
        }
        let lot = self.lot.clone().unwrap_or_default();
        let handle = Handle::new(null_mut());
        let mut gathering = Gathering::begin(self.group(), handle.clone())?;
        lot.add(&handle);
        let gather = Start::gathering(self.group().clone(), lot.clone(), handle.clone());
        let result = catch_unwind(AssertUnwindSafe(|| function(&gather)));
        let ended = gathering.end();
        // Whatever comes now, this work keeps what is held until all is done.
        let held = self.lot.is_none().then_some(lot);
        let work = Work::new(handle, Box::new(move |_| drop_held(held)), self.lot.clone());
        let result = result.unwrap_or_else(|panic| resume_unwind(panic));
        ended?;
        Ok((result?, work))
    }
}

fn drop_held<K>(kept: K) -> Result<()> {
    drop(kept);
    Ok(())
}

/// The time in which a group's calls are gathered. It ends in any case, also by a panic, and what
/// was gathered is then done.
struct Gathering<'g> {
    group: &'g Group,
    gate: &'g Gate,
    handle: Arc<Handle>,
    ended: bool,
}

impl<'g> Gathering<'g> {
    fn begin(group: &'g Group, handle: Arc<Handle>) -> Result<Gathering<'g>> {
        let gate = &**group.gate();
        gate.close()?;
        let mut gathering = Gathering { group, gate, handle, ended: true };
        check(|error| unsafe { raw::tutti_coalescing_begin(group.raw(), error) })?;
        gathering.ended = false;
        Ok(gathering)
    }

    fn end(&mut self) -> Result<()> {
        self.ended = true;
        let end = |call: &Call| unsafe {
            raw::tutti_coalescing_end(call.group, call.options, call.work, call.error)
        };
        let mut work = null_mut();
        let mut ended = self.group.call(end, &mut work);
        if ended.is_err() {
            // Options that are refused must not leave calls behind.
            let plain = self.group.with_timeout(crate::Timeout::Default);
            ended = plain.call(end, &mut work).and(ended);
        }
        self.handle.set(work);
        ended
    }
}

impl Drop for Gathering<'_> {
    fn drop(&mut self) {
        if !self.ended {
            let _ = self.end();
        }
        self.gate.open();
    }
}
