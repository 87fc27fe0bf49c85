//! Keeps a group's blocking collectives and its gathering of calls apart: a call that C gathers
//! returns at once, while its memory is still to be read and written.
use crate::error::{Error, Result};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Condvar, Mutex, PoisonError};

/// How many blocking collectives are under way, and a bit for whether calls are gathered.
#[derive(Default)]
pub(crate) struct Gate {
    state: AtomicUsize,
    lock: Mutex<()>,
    empty: Condvar,
}

const GATHERING: usize = 1 << (usize::BITS - 1);

/// A blocking collective that is under way.
pub(crate) struct Passage<'a>(&'a Gate);

impl Gate {
    /// Begins a blocking collective.
    pub(crate) fn enter(&self) -> Result<Passage<'_>> {
        let before = self.state.fetch_add(1, SeqCst);
        let passage = Passage(self);
        if before & GATHERING != 0 {
            return Err(gathering());
        }
        Ok(passage)
    }

    /// Begins gathering, once the collectives that are under way have ended: they come first in
    /// the group's order anyway.
    pub(crate) fn close(&self) -> Result<()> {
        if self.state.fetch_or(GATHERING, SeqCst) & GATHERING != 0 {
            return Err(gathering());
        }
        let mut lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        while self.state.load(SeqCst) != GATHERING {
            lock = self.empty.wait(lock).unwrap_or_else(PoisonError::into_inner);
        }
        Ok(())
    }

    /// Ends gathering.
    pub(crate) fn open(&self) {
        self.state.fetch_and(!GATHERING, SeqCst);
    }
}

impl Drop for Passage<'_> {
    fn drop(&mut self) {
        if self.0.state.fetch_sub(1, SeqCst) == GATHERING + 1 {
            let _lock = self.0.lock.lock().unwrap_or_else(PoisonError::into_inner);
            self.0.empty.notify_all();
        }
    }
}

fn gathering() -> Error {
    Error::argument("the group's calls are being gathered: until that ends, only they may be made")
}
