//! Facts about the library that is loaded, its debug level, and its log.
use crate::callback::contained;
use crate::error::{check, static_text, Result};
use crate::object::Object;
use crate::raw;
use crate::value::Value;
use std::ffi::CStr;
use std::os::raw::{c_char, c_void};
use std::ptr::null_mut;

pub use crate::raw::{DebugLevel, LogLevel};

/// The version of the loaded library as one number: major * 10000 + minor * 100 + patch.
pub fn version() -> i32 {
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

/// All settings of the library: a map from names to maps with "value", "source" ("default",
/// "environment", "call", or "unknown" for a variable that begins with TUTTI_ and is none), and
/// "default", "variable" or "nearest" where they apply. Nobody may change the environment meanwhile.
pub fn settings() -> Result<Value> {
    let mut object = null_mut();
    check(|error| unsafe { raw::tutti_get_settings(&mut object, error) })?;
    unsafe { Object::adopt(object) }.to_value()
}

type Listener = Box<dyn Fn(LogLevel, &str) + Send + Sync>;

/// Sends the log to a function, on a thread of the library, instead of stderr: the lines up to this
/// level, one at a time. It may call anything of tutti. It is dropped when another one has taken its
/// place and it can no longer be called.
pub fn set_log_callback<F>(level: LogLevel, function: F) -> Result<()>
where
    F: Fn(LogLevel, &str) + Send + Sync + 'static,
{
    let listener = Box::into_raw(Box::<Listener>::new(Box::new(function)));
    let set = check(|error| unsafe {
        raw::tutti_set_log_callback(Some(hear), listener.cast(), Some(forget), level, error)
    });
    if set.is_err() {
        drop(unsafe { Box::from_raw(listener) });
    }
    set
}

/// Sends the log to stderr again, as much of it as the environment says.
pub fn reset_log_callback() -> Result<()> {
    check(|error| unsafe {
        raw::tutti_set_log_callback(None, null_mut(), None, LogLevel::OFF, error)
    })
}

unsafe extern "C" fn hear(level: LogLevel, message: *const c_char, user: *mut c_void) {
    let listener = &*user.cast::<Listener>();
    let message = CStr::from_ptr(message).to_string_lossy();
    let _ = contained(|| listener(level, &message)); // a panic has nobody else to be told to
}

unsafe extern "C" fn forget(user: *mut c_void) {
    let listener = Box::from_raw(user.cast::<Listener>());
    let _ = contained(move || drop(listener));
}
