//! Functions that C calls back.
use std::mem::forget;
use std::panic::{catch_unwind, AssertUnwindSafe};

/// Runs what C has called, through whose frames no panic may go: what it said if it panics, which
/// the panic hook has told then. What was thrown is dropped here too, and may panic in its turn.
pub(crate) fn contained<R>(function: impl FnOnce() -> R) -> Result<R, String> {
    catch_unwind(AssertUnwindSafe(function)).map_err(|thrown| {
        let text = thrown.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| thrown.downcast_ref::<String>().cloned());
        if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(thrown))) {
            forget(again);
        }
        text.unwrap_or_else(|| "with something that is no text".to_owned())
    })
}
