//! What C calls back.
use std::mem::forget;
use std::panic::{catch_unwind, AssertUnwindSafe};

/// Runs what C has called, through whose frames no panic may go: nothing if it panics, which the
/// panic hook has told then. What was thrown is dropped here too, and may panic in its turn.
pub(crate) fn contained<R>(function: impl FnOnce() -> R) -> Option<R> {
    match catch_unwind(AssertUnwindSafe(function)) {
        Ok(result) => Some(result),
        Err(thrown) => {
            if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(thrown))) {
                forget(again);
            }
            None
        }
    }
}
