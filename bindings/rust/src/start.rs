//! Starting operations that run while the caller goes on.
use crate::error::{Error, Result, Status};
use crate::group::{Call, Group};
use crate::outstanding::Outstanding;
use crate::raw;
use crate::work::{Handle, Work};
use std::fmt;
use std::marker::PhantomData;
use std::ptr::null_mut;
use std::sync::Arc;

/// Starts operations: the functions of [`Group`], each of which returns a [`Work`] at once. The
/// work holds the memory that it is given and gives it back: a `Vec` here, where it owns it
/// ([`Group::start`]), and also slices where a [`Scope`](crate::Scope) waits for it
/// ([`Scope::start`](crate::Scope::start)).
pub struct Start<'a> {
    group: Group,
    pub(crate) outstanding: Option<Arc<Outstanding>>,
    pub(crate) coalesced: Option<Arc<Handle>>, // what the calls of a coalescing become
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
    /// Without any, `'a` is `'static`.
    pub(crate) fn new(group: Group, outstanding: Option<Arc<Outstanding>>) -> Start<'a> {
        Start { group, outstanding, coalesced: None, exactly: PhantomData }
    }

    /// Starts calls of a coalescing, which become the operation of this handle.
    pub(crate) fn collecting(
        group: Group,
        outstanding: Arc<Outstanding>,
        handle: Arc<Handle>,
    ) -> Start<'a> {
        Start { coalesced: Some(handle), ..Start::new(group, Some(outstanding)) }
    }

    pub(crate) fn group(&self) -> &Group {
        &self.group
    }

    /// Refuses what cannot be coalesced.
    pub(crate) fn need_at_once(&self) -> Result<()> {
        match self.coalesced {
            None => Ok(()),
            Some(_) => Err(Error::argument("messages cannot be coalesced, only collectives")),
        }
    }

    /// Refuses collectives that cannot be coalesced.
    pub(crate) fn need_one_device(&self) -> Result<()> {
        match self.coalesced {
            None => Ok(()),
            Some(_) => Err(Error::argument("collectives of several GPUs cannot be coalesced")),
        }
    }

    /// Starts an operation. What it holds is in `finish`, which gives it back in the end.
    pub(crate) fn begin<R>(
        &self,
        call: impl FnOnce(&Call) -> Status,
        finish: impl FnOnce(&Handle) -> Result<R> + Send + 'a,
    ) -> Result<Work<'a, R>> {
        if let Some(handle) = &self.coalesced {
            self.group.call(call, null_mut())?;
            return Ok(Work::new(handle.clone(), Box::new(finish), self.outstanding.clone()));
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
        if let Some(outstanding) = &self.outstanding {
            outstanding.add(&handle);
        }
        Work::new(handle, Box::new(finish), self.outstanding.clone())
    }
}

impl fmt::Debug for Start<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Start({:?})", self.group)
    }
}
