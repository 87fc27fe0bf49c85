//! A store that is one file, for processes of one host, and a way to meet there: the tables of
//! tutti/ext.h in Rust, with nothing but the standard library. A lock on the file makes each function
//! atomic. Nothing waits here: the host asks again.
//!
//!     rustc --edition 2021 -O --crate-type cdylib -o libtutti-ledger.so ledger_store.rs
use std::collections::BTreeMap;
use std::ffi::CStr;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::raw::{c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::io::AsRawFd;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::ptr::{null, null_mut};
use std::str;

// ---- tutti/ext.h, as far as it is used here ----

type Status = i32;
const OK: Status = 0;
const INVALID_ARGUMENT: Status = 1;
const TIMEOUT: Status = 4;
const STORE: Status = 10;
const INTERNAL: Status = 13;
const VERSION: u32 = 1;

#[repr(C)]
pub struct Slice {
    data: *const c_void,
    size: usize,
}

#[repr(C)]
pub struct Failure {
    struct_size: u32,
    status: Status,
    rank: i32,
    system_errno: i32,
    message: [u8; 496],
}

type Handle = *mut c_void;
type Bytes = *const Slice;
type Why = *mut Failure;
type Give = unsafe extern "C" fn(*mut c_void, *const c_void, usize);

#[repr(C)]
pub struct StoreTable {
    struct_size: u32,
    version: u32,
    name: *const u8,
    user: *mut c_void,
    open: unsafe extern "C" fn(*mut c_void, *const c_char, i64, *mut *mut c_void, Why) -> Status,
    close: unsafe extern "C" fn(*mut c_void),
    set: unsafe extern "C" fn(Handle, Bytes, Bytes, Why) -> Status,
    get: unsafe extern "C" fn(Handle, Bytes, i64, Give, *mut c_void, Why) -> Status,
    add: unsafe extern "C" fn(Handle, Bytes, i64, *mut i64, Why) -> Status,
    wait: unsafe extern "C" fn(Handle, Bytes, usize, i64, Why) -> Status,
    check: unsafe extern "C" fn(Handle, Bytes, usize, *mut i32, Why) -> Status,
    compare_set: unsafe extern "C" fn(
        Handle,
        Bytes,
        Bytes,
        Bytes,
        *mut i32,
        Give,
        *mut c_void,
        Why,
    ) -> Status,
    delete_key: unsafe extern "C" fn(Handle, Bytes, *mut i32, Why) -> Status,
    append: Option<unsafe extern "C" fn(Handle, Bytes, Bytes, Why) -> Status>,
    list_keys: Option<unsafe extern "C" fn(*mut c_void, Give, *mut c_void, Why) -> Status>,
}

#[repr(C)]
pub struct Rendezvous {
    struct_size: u32,
    rank: i32,
    world_size: i32,
    reserved: u32,
    url: *const c_char,
    address: *const c_char,
    parameters: *const c_char,
    timeout_ms: i64,
    store: Handle,
    store_table: *const StoreTable,
    opened: *mut c_void,
}

#[repr(C)]
pub struct RendezvousTable {
    struct_size: u32,
    version: u32,
    name: *const u8,
    user: *mut c_void,
    meet: unsafe extern "C" fn(*mut c_void, *mut Rendezvous, Why) -> Status,
}

#[repr(C)]
pub struct Module {
    struct_size: u32,
    version: u32,
    backend: *const c_void,
    store: *const StoreTable,
    rendezvous: *const RendezvousTable,
}

// Constant, all that they point to as well.
unsafe impl Sync for StoreTable {}
unsafe impl Sync for RendezvousTable {}
unsafe impl Sync for Module {}

// ---- Failures ----

struct Fault(Status, String, i32);

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Fault {
        Fault(STORE, error.to_string(), error.raw_os_error().unwrap_or(0))
    }
}

/// The result of a function of a table; no panic leaves it.
unsafe fn answer(error: Why, body: impl FnOnce() -> Result<(), Fault>) -> Status {
    let fault = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => return OK,
        Ok(Err(fault)) => fault,
        Err(_) => Fault(INTERNAL, "the store panicked".into(), 0),
    };
    let length = fault.1.len().min((*error).message.len() - 1);
    (&mut (*error).message)[..length].copy_from_slice(&fault.1.as_bytes()[..length]);
    (*error).system_errno = fault.2;
    fault.0
}

// ---- The file: each key and value behind its length, eight bytes ----

type Pairs = BTreeMap<Vec<u8>, Vec<u8>>;

extern "C" {
    fn flock(file: c_int, operation: c_int) -> c_int;
}

fn locked(path: &Path) -> io::Result<File> {
    const EXCLUSIVE: c_int = 2;
    let file = OpenOptions::new().read(true).write(true).create(true).open(path)?;
    while unsafe { flock(file.as_raw_fd(), EXCLUSIVE) } != 0 {
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    Ok(file)
}

fn read_text(from: &mut &[u8]) -> Option<Vec<u8>> {
    let size = usize::try_from(u64::from_le_bytes(from.get(..8)?.try_into().ok()?)).ok()?;
    let text = from.get(8..size.checked_add(8)?)?.to_vec();
    *from = &from[8 + size..];
    Some(text)
}

fn parse(mut data: &[u8]) -> Option<Pairs> {
    let mut pairs = Pairs::new();
    while !data.is_empty() {
        pairs.insert(read_text(&mut data)?, read_text(&mut data)?);
    }
    Some(pairs)
}

/// Runs `act` on the pairs while nobody else does; what it has changed is written.
unsafe fn with<T>(
    store: Handle,
    act: impl FnOnce(&mut Pairs) -> Result<T, Fault>,
) -> Result<T, Fault> {
    let mut file = locked(&*store.cast::<PathBuf>())?; // unlocked when it is closed
    let mut data = Vec::new();
    file.read_to_end(&mut data)?;
    let mut pairs = parse(&data).ok_or_else(|| Fault(STORE, "the file is no ledger".into(), 0))?;
    let result = act(&mut pairs)?;
    let mut changed = Vec::new();
    for text in pairs.iter().flat_map(|(key, value)| [key, value]) {
        changed.extend((text.len() as u64).to_le_bytes());
        changed.extend(text);
    }
    if changed != data {
        file.set_len(0)?;
        file.rewind()?;
        file.write_all(&changed)?;
    }
    Ok(result)
}

unsafe fn bytes(slice: Bytes) -> Vec<u8> {
    if (*slice).size == 0 {
        return Vec::new();
    }
    std::slice::from_raw_parts((*slice).data.cast(), (*slice).size).to_vec()
}

// ---- The functions of the table ----

unsafe extern "C" fn open(
    _user: *mut c_void,
    address: *const c_char,
    _timeout_ms: i64,
    out_store: *mut *mut c_void,
    error: Why,
) -> Status {
    answer(error, || {
        let path = PathBuf::from(std::ffi::OsStr::from_bytes(CStr::from_ptr(address).to_bytes()));
        locked(&path).map_err(|why| {
            Fault(STORE, format!("{}: {}", path.display(), why), why.raw_os_error().unwrap_or(0))
        })?;
        *out_store = Box::into_raw(Box::new(path)).cast();
        Ok(())
    })
}

unsafe extern "C" fn close(store: Handle) {
    drop(Box::from_raw(store.cast::<PathBuf>()));
}

unsafe extern "C" fn set(store: Handle, key: Bytes, value: Bytes, error: Why) -> Status {
    answer(error, || with(store, |pairs| Ok(drop(pairs.insert(bytes(key), bytes(value))))))
}

unsafe extern "C" fn get(
    store: Handle,
    key: Bytes,
    _timeout_ms: i64,
    give: Give,
    to: *mut c_void,
    error: Why,
) -> Status {
    answer(error, || {
        let value = with(store, |pairs| Ok(pairs.get(&bytes(key)).cloned()))?;
        let value = value.ok_or_else(|| Fault(TIMEOUT, String::new(), 0))?;
        give(to, value.as_ptr().cast(), value.len());
        Ok(())
    })
}

unsafe extern "C" fn add(
    store: Handle,
    key: Bytes,
    amount: i64,
    out_sum: *mut i64,
    error: Why,
) -> Status {
    let sum_of = |old: Option<&Vec<u8>>| -> Option<i64> {
        let old = old.map_or(Some(0), |text| str::from_utf8(text).ok()?.parse::<i64>().ok())?;
        old.checked_add(amount)
    };
    answer(error, || {
        *out_sum = with(store, |pairs| {
            let sum = sum_of(pairs.get(&bytes(key)));
            let sum =
                sum.ok_or_else(|| Fault(STORE, "it is no number, or the sum is none".into(), 0))?;
            pairs.insert(bytes(key), sum.to_string().into_bytes());
            Ok(sum)
        })?;
        Ok(())
    })
}

unsafe fn has_all(store: Handle, keys: Bytes, count: usize) -> Result<bool, Fault> {
    with(store, |pairs| Ok((0..count).all(|i| pairs.contains_key(&bytes(keys.add(i))))))
}

unsafe extern "C" fn wait(
    store: Handle,
    keys: Bytes,
    count: usize,
    _timeout_ms: i64,
    error: Why,
) -> Status {
    answer(error, || match has_all(store, keys, count)? {
        true => Ok(()),
        false => Err(Fault(TIMEOUT, String::new(), 0)),
    })
}

unsafe extern "C" fn check(
    store: Handle,
    keys: Bytes,
    count: usize,
    out_all: *mut i32,
    error: Why,
) -> Status {
    answer(error, || Ok(*out_all = has_all(store, keys, count)?.into()))
}

unsafe extern "C" fn compare_set(
    store: Handle,
    key: Bytes,
    expected: Bytes,
    desired: Bytes,
    out_was_set: *mut i32,
    give: Give,
    to: *mut c_void,
    error: Why,
) -> Status {
    answer(error, || {
        let (was_set, now) = with(store, |pairs| {
            let old = pairs.get(&bytes(key)).cloned();
            if old.clone().unwrap_or_default() != bytes(expected) {
                return Ok((false, old));
            }
            pairs.insert(bytes(key), bytes(desired));
            Ok((true, Some(bytes(desired))))
        })?;
        *out_was_set = was_set.into();
        if let Some(value) = now {
            give(to, value.as_ptr().cast(), value.len());
        }
        Ok(())
    })
}

unsafe extern "C" fn delete_key(
    store: Handle,
    key: Bytes,
    out_deleted: *mut i32,
    error: Why,
) -> Status {
    answer(error, || {
        Ok(*out_deleted = with(store, |pairs| Ok(pairs.remove(&bytes(key))))?.is_some().into())
    })
}

unsafe extern "C" fn list_keys(store: Handle, give: Give, to: *mut c_void, error: Why) -> Status {
    answer(error, || {
        for key in with(store, |pairs| Ok(pairs.keys().cloned().collect::<Vec<_>>()))? {
            give(to, key.as_ptr().cast(), key.len());
        }
        Ok(())
    })
}

/// "ledger:///PATH": the processes meet in that file, which must not be there, or be empty.
unsafe extern "C" fn meet(_user: *mut c_void, at: *mut Rendezvous, error: Why) -> Status {
    if *(*at).parameters != 0 {
        return answer(error, || {
            Err(Fault(INVALID_ARGUMENT, "ledger has no parameters".into(), 0))
        });
    }
    (*at).store_table = &TABLE;
    open(null_mut(), (*at).address, (*at).timeout_ms, &mut (*at).opened, error)
}

const NAME: &[u8] = b"ledger\0";

static TABLE: StoreTable = StoreTable {
    struct_size: std::mem::size_of::<StoreTable>() as u32,
    version: VERSION,
    name: NAME.as_ptr(),
    user: null_mut(),
    open,
    close,
    set,
    get,
    add,
    wait,
    check,
    compare_set,
    delete_key,
    append: None,
    list_keys: Some(list_keys),
};

static SCHEME: RendezvousTable = RendezvousTable {
    struct_size: std::mem::size_of::<RendezvousTable>() as u32,
    version: VERSION,
    name: NAME.as_ptr(),
    user: null_mut(),
    meet,
};

static MODULE: Module = Module {
    struct_size: std::mem::size_of::<Module>() as u32,
    version: VERSION,
    backend: null(),
    store: &TABLE,
    rendezvous: &SCHEME,
};

/// The one symbol by which tutti finds the tables.
#[no_mangle]
pub extern "C" fn tutti_module_get(_host_version: u32) -> *const Module {
    &MODULE
}
