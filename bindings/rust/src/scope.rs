//! Operations on borrowed memory.
use crate::group::Group;
use crate::outstanding::Outstanding;
use crate::start::Start;
use std::fmt;
use std::marker::PhantomData;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::sync::Arc;

/// Where operations on borrowed memory are started; see [`scope`].
pub struct Scope<'scope, 'env: 'scope> {
    outstanding: Arc<Outstanding>,
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

/// Runs a function that may start operations on memory it borrows, and returns when all of them are
/// done: also those whose works were dropped or forgotten, and if the function panics. It is to
/// operations what [`std::thread::scope`] is to threads.
///
/// ```no_run
/// # let world = tutti::world()?;
/// let (mut losses, mut hits) = ([0.5_f32; 10], [7_i64]);
/// tutti::scope(|scope| {
///     let first = scope.start(&world).all_reduce(&mut losses, tutti::ReduceOp::AVG)?;
///     let second = scope.start(&world).all_reduce(&mut hits, tutti::ReduceOp::SUM)?;
///     // Here something else is calculated meanwhile.
///     first.wait()?;
///     second.wait()
/// })?;
/// # Ok::<(), tutti::Error>(())
/// ```
///
/// What is borrowed must have been there before the scope, and is not touched inside it:
///
/// ```compile_fail,E0597
/// # let world = tutti::world().unwrap();
/// tutti::scope(|scope| {
///     let mut data = [1.0_f32]; // ends before the scope does
///     let work = scope.start(&world).all_reduce(&mut data, tutti::ReduceOp::SUM);
/// });
/// ```
///
/// ```compile_fail,E0499
/// # let world = tutti::world().unwrap();
/// let mut data = [1.0_f32];
/// tutti::scope(|scope| {
///     let work = scope.start(&world).all_reduce(&mut data, tutti::ReduceOp::SUM);
///     data.fill(2.0); // while the operation may write it
///     drop(work);
/// });
/// ```
pub fn scope<'env, F, R>(function: F) -> R
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R,
{
    let scope = Scope { outstanding: Arc::default(), scope: PhantomData, env: PhantomData };
    let result = catch_unwind(AssertUnwindSafe(|| function(&scope)));
    scope.outstanding.empty();
    match result {
        Ok(result) => result,
        Err(panic) => resume_unwind(panic),
    }
}

impl<'scope, 'env> Scope<'scope, 'env> {
    /// Starts operations of a group.
    pub fn start(&'scope self, group: &Group) -> Start<'scope> {
        Start::new(group.clone(), Some(self.outstanding.clone()))
    }
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scope")
    }
}
