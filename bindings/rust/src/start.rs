//! Collectives that run while the caller goes on.
use crate::calls;
use crate::error::{c_int, check, Error, Result, Status};
use crate::gate::Gate;
use crate::group::{Call, Group};
use crate::lot::Lot;
use crate::memory::{Held, Readable, Writable};
use crate::raw;
use crate::reduce_op::Operator;
use crate::work::{Handle, Work};
use std::fmt;
use std::marker::PhantomData;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::ptr::null_mut;
use std::sync::Arc;

/// Starts operations: the functions of [`Group`], each of which returns a [`Work`] at once. The
/// work holds the memory that it is given and gives it back: a `Vec` here, where it owns it
/// ([`Group::start`]), and also slices where a [`Scope`](crate::Scope) waits for it
/// ([`Scope::start`](crate::Scope::start)).
pub struct Start<'a> {
    group: Group,
    lot: Option<Arc<Lot>>,
    gathered: Option<Arc<Handle>>, // what the calls that are gathered become
    exactly: PhantomData<fn(&'a ()) -> &'a ()>,
}

impl Group {
    /// Starts operations that own their memory.
    ///
    /// ```no_run
    /// # let world = tutti::world()?;
    /// let work = world.start().all_reduce(vec![1.0_f64; 1000], tutti::ReduceOp::SUM)?;
    /// let sums = work.wait()?;
    /// # Ok::<(), tutti::Error>(())
    /// ```
    ///
    /// What is only borrowed needs a [`scope`](crate::scope):
    ///
    /// ```compile_fail,E0597
    /// # let world = tutti::world().unwrap();
    /// let mut data = [1.0_f64];
    /// let work = world.start().all_reduce(&mut data, tutti::ReduceOp::SUM);
    /// ```
    pub fn start(&self) -> Start<'static> {
        Start::new(self.clone(), None)
    }
}

impl<'a> Start<'a> {
    /// Without a lot, `'a` is `'static`.
    pub(crate) fn new(group: Group, lot: Option<Arc<Lot>>) -> Start<'a> {
        Start { group, lot, gathered: None, exactly: PhantomData }
    }

    pub(crate) fn group(&self) -> &Group {
        &self.group
    }

    /// Refuses what cannot be gathered.
    pub(crate) fn need_at_once(&self) -> Result<()> {
        match self.gathered {
            None => Ok(()),
            Some(_) => Err(Error::argument("messages cannot be gathered, only collectives")),
        }
    }

    /// Starts an operation. What it holds is in `finish`, which gives it back in the end.
    pub(crate) fn begin<R>(
        &self,
        call: impl FnOnce(&Call) -> Status,
        finish: impl FnOnce(&Handle) -> Result<R> + Send + 'a,
    ) -> Result<Work<'a, R>> {
        if let Some(handle) = &self.gathered {
            self.group.call(call, null_mut())?;
            return Ok(Work::new(handle.clone(), Box::new(finish), self.lot.clone()));
        }
        let mut work = null_mut();
        self.group.call(call, &mut work)?;
        Ok(self.started(work, finish))
    }

    /// The work of an operation that C has started.
    pub(crate) fn started<R>(
        &self,
        work: *mut raw::tutti_work,
        finish: impl FnOnce(&Handle) -> Result<R> + Send + 'a,
    ) -> Work<'a, R> {
        let handle = Handle::new(work);
        if let Some(lot) = &self.lot {
            lot.add(&handle);
        }
        Work::new(handle, Box::new(finish), self.lot.clone())
    }

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
        let mut gathering = Gathering::begin(&self.group, handle.clone())?;
        lot.add(&handle);
        let gather = Start {
            group: self.group.clone(),
            lot: Some(lot.clone()),
            gathered: Some(handle.clone()),
            exactly: PhantomData,
        };
        let result = catch_unwind(AssertUnwindSafe(|| function(&gather)));
        let ended = gathering.end();
        // Whatever comes now, this work keeps what is held until all is done.
        let held = self.lot.is_none().then_some(lot);
        let work = Work::new(handle, Box::new(move |_| drop_held(held)), self.lot.clone());
        let result = result.unwrap_or_else(|panic| resume_unwind(panic));
        ended?;
        Ok((result?, work))
    }

    /// See [`Group::broadcast`].
    pub fn broadcast<B: Writable + 'a>(&self, data: B, src: usize) -> Result<Work<'a, B>> {
        let mut data = Held::new(data);
        let call = calls::broadcast(data.writing(), c_int(src, "src")?);
        self.begin(call, move |_| Ok(data.give_back()))
    }

    /// See [`Group::all_reduce`].
    pub fn all_reduce<B: Writable + 'a>(
        &self,
        data: B,
        op: impl Into<Operator>,
    ) -> Result<Work<'a, B>> {
        let (mut data, op) = (Held::new(data), op.into());
        let call = calls::all_reduce(None, data.writing(), op.number());
        self.begin(call, move |_| give_back(data, op))
    }

    /// See [`Group::all_reduce_into`]; gives back the output.
    pub fn all_reduce_into<I, O>(
        &self,
        input: I,
        output: O,
        op: impl Into<Operator>,
    ) -> Result<Work<'a, O>>
    where
        I: Readable + 'a,
        O: Writable<Element = I::Element> + 'a,
    {
        let (input, mut output, op) = (Held::new(input), Held::new(output), op.into());
        let call = calls::all_reduce(Some(input.reading()), output.writing(), op.number());
        self.begin(call, move |_| give_back(output, (input, op)))
    }

    /// See [`Group::all_reduce_addends`]; gives back the output.
    pub fn all_reduce_addends<I, O>(
        &self,
        inputs: Vec<I>,
        output: O,
        op: impl Into<Operator>,
    ) -> Result<Work<'a, O>>
    where
        I: Readable + 'a,
        O: Writable<Element = I::Element> + 'a,
    {
        let (inputs, mut output, op) = (Held::new(inputs), Held::new(output), op.into());
        let list = inputs.reading_each();
        let call = calls::all_reduce_addends(list, output.writing(), op.number());
        self.begin(call, move |_| give_back(output, (inputs, op)))
    }

    /// See [`Group::reduce`].
    pub fn reduce<B: Writable + 'a>(
        &self,
        data: B,
        op: impl Into<Operator>,
        dst: usize,
    ) -> Result<Work<'a, B>> {
        let (mut data, op) = (Held::new(data), op.into());
        let call = calls::reduce(None, Some(data.writing()), op.number(), c_int(dst, "dst")?);
        self.begin(call, move |_| give_back(data, op))
    }
}

/// What an operation was given, without what was only kept for it.
pub(crate) fn give_back<B, K>(data: Held<B>, kept: K) -> Result<B> {
    drop(kept);
    Ok(data.give_back())
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

impl fmt::Debug for Start<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Start({:?})", self.group)
    }
}
