//! Where operations stand whose end somebody waits for.
use crate::timeout::Timeout;
use crate::work::Handle;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The operations of a scope, or calls that become one operation, and what was held by works that
/// were dropped before they were done. Whoever makes one empties it before what is borrowed in
/// there ends.
#[derive(Default)]
pub(crate) struct Outstanding {
    works: Mutex<Running>,
    kept: Mutex<Vec<Box<dyn Send>>>,
}

#[derive(Default)]
struct Running {
    works: Vec<Arc<Handle>>,
    swept: usize, // how many were left when those that are done were last thrown out
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Outstanding {
    pub(crate) fn add(&self, work: &Arc<Handle>) {
        let mut running = lock(&self.works);
        running.works.push(work.clone());
        if running.works.len() > 2 * running.swept + 64 {
            running.works.retain(|work| !work.is_completed());
            running.swept = running.works.len();
        }
    }

    pub(crate) fn keep(&self, held: Box<dyn Send>) {
        lock(&self.kept).push(held);
    }

    /// Waits until all operations are done, and lets go of everything.
    pub(crate) fn empty(&self) {
        let works = std::mem::take(&mut lock(&self.works).works);
        for work in works {
            let _ = work.wait(Timeout::Default); // its failure is told to who has the work
        }
        let kept = std::mem::take(&mut *lock(&self.kept));
        drop(kept);
    }
}
