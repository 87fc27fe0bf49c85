//! Facts about the library that is loaded, its debug level, and its log.
use crate::callback::contained;
use crate::error::{check, static_text, Result};
use crate::raw;
use std::ffi::CStr;
use std::os::raw::{c_char, c_void};
use std::ptr::null_mut;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use crate::raw::{DebugLevel, LogLevel};

/// The version of the loaded library as one number: major * 10000 + minor * 100 + patch.
pub fn version() -> u32 {
    unsafe { raw::tutti_version() }
}

/// The version of the loaded library, for instance "0.1.0".
pub fn version_string() -> &'static str {
    unsafe { static_text(raw::tutti_version_string()) }.unwrap_or("")
}

/// Sets torch's debug level, a value of the process: under [`DebugLevel::DETAIL`] ranks compare
/// what they call before each collective. A group keeps the level of when it was made.
pub fn set_debug_level(level: DebugLevel) -> Result<()> {
    check(|error| unsafe { raw::tutti_set_debug_level(level, error) })
}

/// Sets the debug level to what TORCH_DISTRIBUTED_DEBUG says.
pub fn set_debug_level_from_env() -> Result<()> {
    check(|error| unsafe { raw::tutti_set_debug_level_from_env(error) })
}

/// The debug level of this process.
pub fn debug_level() -> DebugLevel {
    unsafe { raw::tutti_get_debug_level() }
}

type Listener = Arc<dyn Fn(LogLevel, &str) + Send + Sync>;

/// Those that hear the log, by the number that C hands back: the last one, and while it is
/// replaced, the one before, which hears what was said so far.
struct Listeners {
    last: usize,
    all: Vec<(usize, Listener)>,
}

fn listeners() -> MutexGuard<'static, Listeners> {
    static LISTENERS: Mutex<Listeners> = Mutex::new(Listeners { last: 0, all: Vec::new() });
    LISTENERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sends the log to a function, on a thread of the library, instead of stderr: the lines up to this
/// level, one at a time. It may call anything of tutti.
pub fn set_log_callback<F>(level: LogLevel, function: F) -> Result<()>
where
    F: Fn(LogLevel, &str) + Send + Sync + 'static,
{
    let number = {
        let mut listeners = listeners();
        listeners.last += 1;
        let number = listeners.last;
        listeners.all.push((number, Arc::new(function)));
        number
    };
    let set = check(|error| unsafe {
        raw::tutti_set_log_callback(Some(hear), number as *mut c_void, level, error)
    });
    match set {
        Ok(()) => forget_listeners(|other| other < number),
        Err(_) => forget_listeners(|other| other == number),
    }
    set
}

/// Sends the log to stderr again, as much of it as the environment says.
pub fn reset_log_callback() -> Result<()> {
    let before = listeners().last;
    check(|error| unsafe { raw::tutti_set_log_callback(None, null_mut(), LogLevel::OFF, error) })?;
    forget_listeners(|number| number <= before);
    Ok(())
}

/// They are dropped when the lock is not held: they may own something that logs when it ends.
fn forget_listeners(which: impl Fn(usize) -> bool) {
    let mut listeners = listeners();
    let all = std::mem::take(&mut listeners.all).into_iter();
    let (gone, kept): (Vec<_>, Vec<_>) = all.partition(|(number, _)| which(*number));
    listeners.all = kept;
    drop(listeners);
    drop(gone);
}

unsafe extern "C" fn hear(level: LogLevel, message: *const c_char, user: *mut c_void) {
    let number = user as usize;
    let found = listeners().all.iter().find(|(other, _)| *other == number).cloned();
    if let Some((_, listener)) = found {
        let message = CStr::from_ptr(message).to_string_lossy();
        // A panic has nobody else to be told to; the listener may be the last of its kind.
        contained(move || listener(level, &message));
    }
}
