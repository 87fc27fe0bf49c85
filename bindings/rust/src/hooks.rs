//! Functions of programs that are called around every operation.
use crate::callback::contained;
use crate::device::{device_of, Device, DeviceSlice};
use crate::element::Element;
use crate::error::{check, Error, Result};
use crate::memory::elements_of;
use crate::raw::{self, DeviceType, Dtype, ReduceOp};
use std::ffi::CStr;
use std::fmt;
use std::mem::size_of;
use std::os::raw::{c_char, c_void};
use std::slice;

/// A collective, a message or another operation of a group, which a hook is called about.
pub struct Operation<'a>(&'a raw::tutti_operation);

// It is not written as long as it is there.
unsafe impl Send for Operation<'_> {}
unsafe impl Sync for Operation<'_> {}

impl<'a> Operation<'a> {
    /// A number of the operation in this process, from 1 on: the same in all hooks that are called
    /// about it.
    pub fn id(&self) -> u64 {
        self.0.id
    }

    /// The kind of operation: "all_reduce", "send", ...
    pub fn name(&self) -> &'a str {
        text(self.0.name)
    }

    /// The name of its group, as [`Group::name`](crate::Group::name) gives it.
    pub fn group_name(&self) -> &'a str {
        text(self.0.group_name)
    }

    /// The name of [`Group::with_tag_name`](crate::Group::with_tag_name); "" if it has none.
    pub fn tag_name(&self) -> &'a str {
        text(self.0.tag_name)
    }

    /// This process's rank in the group.
    pub fn rank(&self) -> usize {
        self.0.rank as usize
    }

    /// How many ranks the group has.
    pub fn world_size(&self) -> usize {
        self.0.world_size as usize
    }

    /// The root of a collective, or the other rank of a message; nothing if there is none, and of
    /// a receive from any rank.
    pub fn peer(&self) -> Option<usize> {
        usize::try_from(self.0.peer).ok()
    }

    /// Which collective of its group it is, as messages show it (#7); 0 for others.
    pub fn sequence_number(&self) -> u64 {
        self.0.sequence_number as u64
    }

    /// The memory that it reads on this rank; objects and bytes are not shown.
    pub fn inputs(&self) -> impl Iterator<Item = Operand<'a>> + 'a {
        operands(self.0.inputs, self.0.input_count)
    }

    /// The memory that it writes on this rank; objects and bytes are not shown.
    pub fn outputs(&self) -> impl Iterator<Item = Operand<'a>> + 'a {
        operands(self.0.outputs, self.0.output_count)
    }

    /// The op of a reduction; else [`ReduceOp::SUM`].
    pub fn op(&self) -> ReduceOp {
        self.0.op
    }

    /// The tag of a message; else 0.
    pub fn tag(&self) -> i32 {
        self.0.tag
    }

    /// Whether the program has a work for it.
    pub fn is_async(&self) -> bool {
        self.0.is_async != 0
    }
}

impl fmt::Debug for Operation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Operation({} of {:?}", self.name(), self.group_name())?;
        match self.tag_name() {
            "" => write!(f, ")"),
            tag => write!(f, ", {tag:?})"),
        }
    }
}

/// Memory that an operation reads or writes.
pub struct Operand<'a>(&'a raw::tutti_buffer);

unsafe impl Send for Operand<'_> {}
unsafe impl Sync for Operand<'_> {}

impl<'a> Operand<'a> {
    /// The type of its elements.
    pub fn dtype(&self) -> Dtype {
        self.0.dtype
    }

    /// How many elements it has.
    pub fn len(&self) -> usize {
        self.0.count as usize
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The device that it is on; nothing on the CPU.
    pub fn device(&self) -> Option<Device> {
        (self.0.device_type != DeviceType::CPU).then(|| device_of(self.0))
    }

    /// Its elements; an error if they are of another type, or on a device.
    ///
    /// # Safety
    /// Nobody writes them as long as they are used. That is so in `before` and `after` of
    /// [`Hooks`], where neither the library does nor, unless it breaks its own rules, the program.
    pub unsafe fn elements<T: Element>(&self) -> Result<&'a [T]> {
        Ok(elements_of::<T>(self.0, || "the operand".into())?)
    }

    /// Its elements on a device; an error if they are of another type, or not on one.
    ///
    /// # Safety
    /// As for [`DeviceSlice::new`]: what uses the slice is done when the hook returns.
    pub unsafe fn device_elements<T: Element>(&self) -> Result<DeviceSlice<T>> {
        DeviceSlice::of(self.0, || "the operand".into())
    }
}

impl fmt::Debug for Operand<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Operand({} {:?})", self.len(), self.dtype())
    }
}

/// Another library may give a text that is no UTF-8; it is shown as no text.
fn text<'a>(text: *const c_char) -> &'a str {
    unsafe { CStr::from_ptr(text) }.to_str().unwrap_or("")
}

fn operands<'a>(
    first: *const raw::tutti_buffer,
    count: i64,
) -> impl Iterator<Item = Operand<'a>> + 'a {
    let list = match count {
        0 => &[],
        count => unsafe { slice::from_raw_parts(first, count as usize) },
    };
    list.iter().map(Operand)
}

type Hook = Box<dyn Fn(&Operation<'_>) + Send + Sync>;
type AbortHook = Box<dyn Fn(&Operation<'_>, &Error) + Send + Sync>;

/// Functions that are called around every operation of this process, of all groups (torchcomms:
/// pre, post and abort hooks). For each operation `before` is called, and then `after` or
/// `aborted`. Hooks that were added later are the inner ones: `before` is called in the order in
/// which hooks were added, the others in the reverse. Any thread calls them, several at a time. A
/// hook must not wait for the group of its operation; operations that it starts call no hooks.
///
/// ```no_run
/// let id = tutti::Hooks::new()
///     .before(|operation| println!("{} of {}", operation.name(), operation.group_name()))
///     .aborted(|operation, error| println!("{}: {error}", operation.name()))
///     .add()?;
/// // ...
/// id.remove()?;
/// # Ok::<(), tutti::Error>(())
/// ```
#[derive(Default)]
#[must_use = "they are called once they are added"]
pub struct Hooks {
    before: Option<Hook>,
    after: Option<Hook>,
    aborted: Option<AbortHook>,
}

impl Hooks {
    /// No hooks yet.
    pub fn new() -> Hooks {
        Hooks::default()
    }

    /// A function to call before an operation moves anything: a collective in its turn, on the
    /// thread that runs it.
    pub fn before(mut self, hook: impl Fn(&Operation<'_>) + Send + Sync + 'static) -> Hooks {
        self.before = Some(Box::new(hook));
        self
    }

    /// A function to call when an operation has succeeded, before whoever waits for it goes on.
    pub fn after(mut self, hook: impl Fn(&Operation<'_>) + Send + Sync + 'static) -> Hooks {
        self.after = Some(Box::new(hook));
        self
    }

    /// A function to call instead of `after` when an operation has failed.
    pub fn aborted(
        mut self,
        hook: impl Fn(&Operation<'_>, &Error) + Send + Sync + 'static,
    ) -> Hooks {
        self.aborted = Some(Box::new(hook));
        self
    }

    /// Adds them: they are called about operations that begin from now on, until they are removed.
    /// They are dropped when none of them is called any more.
    pub fn add(self) -> Result<HooksId> {
        let given = raw::tutti_hooks {
            struct_size: size_of::<raw::tutti_hooks>() as u32,
            reserved: 0,
            before: self.before.as_ref().and(Some(call_before)),
            after: self.after.as_ref().and(Some(call_after)),
            aborted: self.aborted.as_ref().and(Some(call_aborted)),
            user: std::ptr::null_mut(),
            release_user: Some(forget),
        };
        let user = Box::into_raw(Box::new(self));
        let given = raw::tutti_hooks { user: user.cast(), ..given };
        let mut id = 0;
        let added = check(|error| unsafe { raw::tutti_hooks_add(&given, &mut id, error) });
        if added.is_err() {
            drop(unsafe { Box::from_raw(user) });
        }
        added.map(|()| HooksId(id))
    }
}

impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hooks")
    }
}

/// Hooks that were added. Dropping it leaves them there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HooksId(u64);

impl HooksId {
    /// Removes the hooks, and waits for those that are running on other threads: none of them is
    /// called again. A hook may remove itself. An error if they were removed before.
    pub fn remove(self) -> Result<()> {
        check(|error| unsafe { raw::tutti_hooks_remove(self.0, error) })
    }
}

/// Calls one of the hooks, whose panic has nobody else to be told to.
unsafe fn with_hooks(user: *mut c_void, call: impl FnOnce(&Hooks)) {
    let hooks = &*user.cast::<Hooks>();
    let _ = contained(|| call(hooks));
}

unsafe extern "C" fn call_before(operation: *const raw::tutti_operation, user: *mut c_void) {
    with_hooks(user, |hooks| {
        if let Some(hook) = &hooks.before {
            hook(&Operation(&*operation));
        }
    });
}

unsafe extern "C" fn call_after(operation: *const raw::tutti_operation, user: *mut c_void) {
    with_hooks(user, |hooks| {
        if let Some(hook) = &hooks.after {
            hook(&Operation(&*operation));
        }
    });
}

unsafe extern "C" fn call_aborted(
    operation: *const raw::tutti_operation,
    why: *const raw::tutti_error,
    user: *mut c_void,
) {
    with_hooks(user, |hooks| {
        if let Some(hook) = &hooks.aborted {
            hook(&Operation(&*operation), &Error::from_c(why, (*why).status));
        }
    });
}

unsafe extern "C" fn forget(user: *mut c_void) {
    let hooks = Box::from_raw(user.cast::<Hooks>());
    let _ = contained(move || drop(hooks));
}
