//! The error of a call that failed.
use crate::raw;
use std::ffi::{CStr, CString};
use std::fmt;
use std::mem::{size_of, MaybeUninit};
use std::os::raw::c_char;
use std::ptr::{addr_of, addr_of_mut};

pub use crate::raw::Status;

/// Why a call failed: what to do next ([`Error::status`]), who is at fault, and one sentence.
#[derive(Clone, PartialEq, Eq)]
pub struct Error {
    status: Status,
    rank: Option<usize>,
    system_errno: i32,
    message: String,
}

/// The result of the calls of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error of a callback's own, with which the call that runs it will fail.
    pub fn new(status: Status, message: impl Into<String>) -> Error {
        Error { status, rank: None, system_errno: 0, message: message.into() }
    }

    /// The kind of failure; the values say what the caller can do next.
    pub fn status(&self) -> Status {
        self.status
    }

    /// The group rank at fault, if one is.
    pub fn rank(&self) -> Option<usize> {
        self.rank
    }

    /// The errno of the system call behind it, or 0.
    pub fn system_errno(&self) -> i32 {
        self.system_errno
    }

    /// One sentence: operation, group, rank, cause.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// For a call in place, whose one buffer C calls input and output.
    pub(crate) fn in_place(self) -> Error {
        let message = translate_all(&self.message, &[("input", "data"), ("output", "data")]);
        Error { message, ..self }
    }

    pub(crate) fn argument(message: impl Into<String>) -> Error {
        Error::new(Status::INVALID_ARGUMENT, message)
    }

    /// The fields that C has filled in beside the status it returned.
    ///
    /// # Safety
    /// The head of `error` and its message up to the NUL are initialised.
    #[cold]
    pub(crate) unsafe fn from_c(error: *const raw::tutti_error, status: Status) -> Error {
        let message = CStr::from_ptr(addr_of!((*error).message).cast());
        Error {
            status,
            rank: usize::try_from((*error).rank).ok(),
            system_errno: (*error).system_errno,
            message: match status {
                Status::INVALID_ARGUMENT | Status::INVALID_HANDLE | Status::UNSUPPORTED => {
                    let message = message.to_string_lossy().replace("options.stream", "the stream");
                    translate_all(&message, NAMES)
                }
                _ => message.to_string_lossy().into_owned(),
            },
        }
    }

    /// Writes it where C asks a callback for it.
    ///
    /// # Safety
    /// `error` is initialised.
    pub(crate) unsafe fn write_to(&self, error: &mut raw::tutti_error) {
        error.status = self.status;
        error.rank = self.rank.and_then(|rank| i32::try_from(rank).ok()).unwrap_or(-1);
        error.system_errno = self.system_errno;
        let mut size = self.message.len().min(error.message.len() - 1);
        while !self.message.is_char_boundary(size) {
            size -= 1;
        }
        for (place, byte) in error.message.iter_mut().zip(self.message[..size].bytes()) {
            *place = byte as c_char;
        }
        error.message[size] = 0;
    }
}

/// The name of something there, and its name here.
type Names = &'static [(&'static str, &'static str)];

/// The name of an argument in C, and its name here.
const NAMES: Names = &[
    ("NULL", "none"),
    ("TUTTI_NO_TIMEOUT", "Timeout::Never"),
    ("buffer", "data"),
    ("buffer_count", "buffers.len()"),
    ("group_dst", "dst"),
    ("group_peer", "dst or src"),
    ("group_src", "src"),
    ("input_count", "inputs.len()"),
    ("input_split_count", "input_splits.len()"),
    ("input_split_sizes", "input_splits"),
    ("object_count", "values.len()"),
    ("output_count", "outputs.len()"),
    ("output_split_count", "output_splits.len()"),
    ("output_split_sizes", "output_splits"),
    ("rank_count", "ranks.len()"),
    ("split_count", "groups.len()"),
    ("timeout_ms", "timeout"),
];

/// A message with the names that arguments have here; what is quoted in it stays.
fn translate_all(message: &str, names: Names) -> String {
    let mut quoted = false;
    let mut translated = String::with_capacity(message.len());
    for part in message.split_inclusive('"') {
        if quoted {
            translated.push_str(part);
        } else {
            translate(part, names, &mut translated);
        }
        quoted = !quoted;
    }
    translated
}

fn translate(text: &str, names: Names, into: &mut String) {
    let mut rest = text;
    while !rest.is_empty() {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let (name, behind) = rest.split_at(rest.find(|c: char| !is_name(c)).unwrap_or(rest.len()));
        let known = names.iter().find(|(of_c, _)| *of_c == name);
        into.push_str(known.map_or(name, |(_, here)| here));
        let (between, behind) = behind.split_at(behind.find(is_name).unwrap_or(behind.len()));
        into.push_str(between);
        rest = behind;
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", status_name(self.status), self.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}

/// The name of a status, for instance "TUTTI_ERR_TIMEOUT".
pub fn status_name(status: Status) -> &'static str {
    unsafe { static_text(raw::tutti_status_name(status)) }.unwrap_or("TUTTI_ERR_UNKNOWN")
}

/// Calls C with an error to fill, and turns the status into a result.
pub(crate) fn check(call: impl FnOnce(*mut raw::tutti_error) -> Status) -> Result<()> {
    let mut error = MaybeUninit::<raw::tutti_error>::uninit();
    let place = error.as_mut_ptr();
    // Only the head is prepared: this stands before every call, and a message is written whole.
    unsafe {
        addr_of_mut!((*place).struct_size).write(size_of::<raw::tutti_error>() as u32);
        addr_of_mut!((*place).status).write(Status::OK);
        addr_of_mut!((*place).rank).write(-1);
        addr_of_mut!((*place).system_errno).write(0);
        addr_of_mut!((*place).message).cast::<c_char>().write(0);
    }
    let status = call(place);
    if status == Status::OK {
        return Ok(());
    }
    Err(unsafe { Error::from_c(place, status) })
}

/// A text for C, which takes no NUL inside; `argument` names it if there is one.
pub(crate) fn c_text(text: &str, argument: &str) -> Result<CString> {
    CString::new(text).map_err(|fault| {
        let place = fault.nul_position();
        Error::argument(format!("{argument} has a NUL character at byte {place}"))
    })
}

/// As [`c_text`], of what may be left out.
pub(crate) fn c_text_or_null(text: Option<&str>, argument: &str) -> Result<Option<CString>> {
    text.map(|text| c_text(text, argument)).transpose()
}

/// Several texts for C.
pub(crate) fn c_texts<S: AsRef<str>>(texts: &[S], argument: &str) -> Result<Vec<CString>> {
    let name = |index| format!("{argument}[{index}]");
    texts.iter().enumerate().map(|(i, text)| c_text(text.as_ref(), &name(i))).collect()
}

/// Where the text is; NULL if there is none.
pub(crate) fn pointer(text: &Option<CString>) -> *const c_char {
    text.as_ref().map_or(std::ptr::null(), |text| text.as_ptr())
}

/// A text that lives as long as the library, which is never unloaded.
pub(crate) unsafe fn static_text(text: *const c_char) -> Option<&'static str> {
    if text.is_null() {
        return None;
    }
    CStr::from_ptr(text).to_str().ok()
}

/// A rank, tag or count for C, whose integers have 32 bits; `argument` names it if it has more.
pub(crate) fn c_int(number: usize, argument: &str) -> Result<i32> {
    i32::try_from(number).map_err(|_| {
        Error::argument(format!("{argument} is {number}; that is beyond {}", i32::MAX))
    })
}
