//! Gradients of a model that are added up over the ranks while the program computes others.
use crate::bucket::{empty_bucket, give_hook, Bucket, BucketMut};
use crate::device::DeviceSlice;
use crate::element::Element;
use crate::error::{c_int, c_texts, check, Error, Result};
use crate::group::Group;
use crate::memory::{elements_of, writing, CBuffer};
use crate::object::Object;
use crate::pass::Pass;
use crate::raw;
use crate::timeout::Timeout;
use crate::value::Value;
use crate::work::Handle;
use std::fmt;
use std::marker::PhantomData;
use std::mem::size_of;
use std::os::raw::{c_char, c_void};
use std::ptr::{null, null_mut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use crate::raw::Compression;

/// A parameter of a model, or a buffer of it that [`Reducer::sync_buffers`] copies: its name and its
/// elements, which it borrows.
pub struct Parameter<'a> {
    name: &'a str,
    values: CBuffer,
    owner: PhantomData<&'a mut ()>,
}

impl<'a> Parameter<'a> {
    /// Names are what messages call parameters.
    pub fn new<T: Element>(name: &'a str, values: &'a mut [T]) -> Parameter<'a> {
        Parameter { name, values: writing(values), owner: PhantomData }
    }

    /// The same on a device.
    pub fn on_device<T: Element>(name: &'a str, values: DeviceSlice<T>) -> Parameter<'a> {
        Parameter { name, values: values.buffer(), owner: PhantomData }
    }
}

impl fmt::Debug for Parameter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Parameter({:?}: {} {:?})", self.name, self.values.count, self.values.dtype)
    }
}

fn buffers_of(parameters: &[Parameter<'_>]) -> Vec<CBuffer> {
    parameters.iter().map(|one| one.values).collect()
}

/// Options of a reducer, the same on all ranks but for the timeout.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReducerOptions<'a> {
    /// Some parameters may get no gradient in a pass.
    pub find_unused_parameters: bool,
    /// Every pass marks the same parameters equally often, which the first one finds out.
    pub static_graph: bool,
    /// Buckets never follow the order in which gradients come.
    pub keep_buckets: bool,
    /// Parameters stay as they are, instead of getting the values of rank 0.
    pub no_initial_broadcast: bool,
    /// Results are sums over the ranks, not means.
    pub sum: bool,
    /// For a reproducible group: the gradients of so many passes that are not synchronised are kept
    /// apart, so that results do not depend on how ranks share micro-batches.
    pub keep_micro_batches: u32,
    /// Bytes from which on a bucket is full; 0: 25 MiB.
    pub bucket_cap_bytes: usize,
    /// The same of the first bucket; 0: 1 MiB, or `bucket_cap_bytes` if that is less.
    pub first_bucket_cap_bytes: usize,
    /// The timeout of each bucket's communication; the group's if it is not given.
    pub timeout: Timeout,
    /// Gradients are divided by it before they are added up, and by the rest afterwards; 0: 1.
    pub predivide: f64,
    /// The order in which gradients are expected; from the last parameter to the first if it is not
    /// given.
    pub order: Option<&'a [usize]>,
}

impl ReducerOptions<'_> {
    fn to_c(self, stream: *mut c_void) -> raw::tutti_reducer_options {
        let bytes = |number| i64::try_from(number).unwrap_or(i64::MAX);
        raw::tutti_reducer_options {
            struct_size: size_of::<raw::tutti_reducer_options>() as u32,
            find_unused_parameters: self.find_unused_parameters.into(),
            static_graph: self.static_graph.into(),
            keep_buckets: self.keep_buckets.into(),
            no_initial_broadcast: self.no_initial_broadcast.into(),
            sum: self.sum.into(),
            keep_micro_batches: self.keep_micro_batches,
            reserved: 0,
            bucket_cap_bytes: bytes(self.bucket_cap_bytes),
            first_bucket_cap_bytes: bytes(self.first_bucket_cap_bytes),
            timeout_ms: self.timeout.milliseconds(),
            predivide: self.predivide,
            stream,
        }
    }

    fn c_order(&self, parameters: usize) -> Result<Option<Vec<i64>>> {
        match self.order {
            Some(order) if order.len() != parameters => Err(Error::argument(format!(
                "options.order has {} indices for {parameters} parameters",
                order.len()
            ))),
            order => Ok(order.map(c_indices)),
        }
    }
}

/// Options of [`Reducer::set_power_sgd`], the same on all ranks.
#[derive(Clone, Copy, Debug, Default)]
pub struct PowerSgdOptions {
    /// What a pass leaves out is lost, instead of being added to the next pass's gradient.
    pub no_error_feedback: bool,
    /// Each pass begins with random directions, instead of those of the pass before.
    pub no_warm_start: bool,
    /// Columns of each factor: more are more accurate, and take more bytes; 0: 1.
    pub matrix_approximation_rank: usize,
    /// So many synchronised passes come before the first one that is compressed; 0: 1000.
    pub start_iteration: usize,
    /// A matrix is compressed if it has more numbers than its factors times this; 0: 2.
    pub min_compression_rate: f64,
    /// Added to norms before a division by them; 0 is safe, too.
    pub orthogonalization_epsilon: f64,
    /// The seed of the random directions.
    pub random_seed: i64,
}

impl PowerSgdOptions {
    fn to_c(self) -> raw::tutti_power_sgd_options {
        raw::tutti_power_sgd_options {
            struct_size: size_of::<raw::tutti_power_sgd_options>() as u32,
            no_error_feedback: self.no_error_feedback.into(),
            no_warm_start: self.no_warm_start.into(),
            reserved: 0,
            matrix_approximation_rank: c_index(self.matrix_approximation_rank),
            start_iteration: c_index(self.start_iteration),
            min_compression_rate: self.min_compression_rate,
            orthogonalization_epsilon: self.orthogonalization_epsilon,
            random_seed: self.random_seed,
        }
    }
}

/// A number for C, which refuses -1.
fn c_index(index: usize) -> i64 {
    i64::try_from(index).unwrap_or(-1)
}

/// Indices for C, which refuses -1.
pub(crate) fn c_indices(indices: &[usize]) -> Vec<i64> {
    indices.iter().copied().map(c_index).collect()
}

/// Adds the gradients of a model up over the ranks, in buckets, while the program computes others
/// (torch: `DistributedDataParallel`). A training step is a [`Pass`]. It makes a group of its own,
/// so the program may use its group meanwhile. If a pass fails, the reducer has failed on all ranks.
///
/// Parameters may be on a device ([`Parameter::on_device`]), all of a rank on one; then so are
/// gradients, which `device_gradient`, [`Pass::mark_ready_from_device`] and
/// [`Bucket::device_gradients`] give and take. The program computes them on the stream of
/// [`Group::with_stream`], or on the device's default stream, and buckets are reduced after what that
/// has when their last gradient is marked. With a stream, calls return when their results are
/// enqueued, and later work on the stream finds them.
///
/// ```no_run
/// # use tutti::{Parameter, Reducer, ReducerOptions};
/// # let world = tutti::world()?;
/// let (mut weights, mut bias) = (vec![0.5_f32; 1000], [0.0_f32; 10]);
/// let model = [Parameter::new("weights", &mut weights), Parameter::new("bias", &mut bias)];
/// let mut reducer = Reducer::new(&world, &model, &ReducerOptions::default())?;
/// reducer.backward(true, |pass| {
///     for parameter in [1, 0] {
///         let mut gradient = pass.gradient::<f32>(parameter)?;
///         gradient.fill(0.25); // compute it in place
///         gradient.ready()?; // it travels from here on
///     }
///     Ok(())
/// })?;
/// let step = reducer.gradient::<f32>(1)?[0] * 0.1;
/// # Ok::<(), tutti::Error>(())
/// ```
///
/// A view of a gradient ends before the pass in which gradients may move:
///
/// ```compile_fail,E0502
/// # let mut reducer = tutti::Reducer::new(&tutti::world()?, &[], &Default::default())?;
/// let gradient = reducer.gradient::<f32>(0)?;
/// let pass = reducer.begin(true)?;
/// println!("{}", gradient[0]);
/// # Ok::<(), tutti::Error>(())
/// ```
pub struct Reducer {
    handle: *mut raw::tutti_reducer,
    pub(crate) slots: Vec<Mutex<Slot>>,
    is_static: bool,
    learns: bool, // of a static graph: the next synchronised pass tells how often each is marked
    state: State,
}

/// A parameter in a pass, as far as it tells who has its gradient.
pub(crate) struct Slot {
    pub(crate) is_taken: bool,
    pub(crate) marks: u32,
    pub(crate) most_marks: u32,
}

impl Slot {
    fn new(is_static: bool) -> Slot {
        Slot { is_taken: false, marks: 0, most_marks: if is_static { u32::MAX } else { 1 } }
    }
}

enum State {
    Idle,
    InPass,
    Finishing(Arc<Handle>),
}

// The program's own values are behind locks, or taken by &mut.
unsafe impl Send for Reducer {}
unsafe impl Sync for Reducer {}

impl Reducer {
    /// Makes a reducer for the parameters of a model. Every rank of the group calls it with
    /// parameters of the same names, lengths and types, in the same order; where they differ, all get
    /// [`Status::MISMATCH`](crate::Status::MISMATCH), which shows both. The parameters receive the
    /// values of rank 0, unless options say otherwise. Their gradients are zero. The stream of the
    /// group ([`Group::with_stream`]) is the one that computes gradients.
    pub fn new(
        group: &Group,
        parameters: &[Parameter<'_>],
        options: &ReducerOptions<'_>,
    ) -> Result<Reducer> {
        let names: Vec<&str> = parameters.iter().map(|one| one.name).collect();
        let names = c_texts(&names, "names")?;
        let names: Vec<*const c_char> = names.iter().map(|name| name.as_ptr()).collect();
        let order = options.c_order(parameters.len())?;
        let (buffers, c_options) = (buffers_of(parameters), options.to_c(group.stream()));
        let mut handle = null_mut();
        check(|error| unsafe {
            let order = order.as_ref().map_or(null(), |order| order.as_ptr());
            let (first, names, count) = (buffers.as_ptr(), names.as_ptr(), buffers.len() as i64);
            let (group, out) = (group.raw(), &mut handle);
            raw::tutti_reducer_create(group, first, names, order, count, &c_options, out, error)
        })?;
        let is_static = options.static_graph;
        let slots = parameters.iter().map(|_| Mutex::new(Slot::new(is_static))).collect();
        Ok(Reducer { handle, slots, is_static, learns: is_static, state: State::Idle })
    }

    pub(crate) fn raw(&self) -> *mut raw::tutti_reducer {
        self.handle
    }

    pub(crate) fn slot(&self, parameter: usize) -> Result<MutexGuard<'_, Slot>> {
        let slot = self.slots.get(parameter).ok_or_else(|| {
            let count = self.slots.len();
            Error::argument(format!("parameter is {parameter}; the reducer has {count} of them"))
        })?;
        Ok(slot.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Where the gradient of a parameter is.
    fn place_in_c(&self, parameter: usize) -> Result<CBuffer> {
        let mut place = empty_bucket().gradients;
        check(|error| unsafe {
            raw::tutti_reducer_gradient(self.handle, c_index(parameter), &mut place, error)
        })?;
        Ok(place)
    }

    /// The gradient of a parameter, on the CPU.
    ///
    /// # Safety
    /// Nobody else has access to it, and buckets do not change as long as the lifetime says.
    #[allow(clippy::mut_from_ref)]
    pub(crate) unsafe fn place<T: Element>(&self, parameter: usize) -> Result<&mut [T]> {
        elements_of(&self.place_in_c(parameter)?, || format!("parameter {parameter}"))
    }

    /// The gradient of a parameter, on a device.
    pub(crate) fn device_place<T: Element>(&self, parameter: usize) -> Result<DeviceSlice<T>> {
        DeviceSlice::of(&self.place_in_c(parameter)?, || format!("parameter {parameter}"))
    }

    fn check_idle(&self) -> Result<()> {
        match &self.state {
            State::Idle => Ok(()),
            State::Finishing(work) if work.is_completed() => Ok(()),
            _ => Err(Error::argument("a pass has begun and not ended")),
        }
    }

    /// The gradient of a parameter between passes; an error if it is not of this type.
    pub fn gradient<T: Element>(&self, parameter: usize) -> Result<&[T]> {
        self.check_idle()?;
        Ok(unsafe { self.place(parameter) }?)
    }

    /// The gradient of a parameter between passes, to be written: what accumulates is set to zero
    /// when it begins anew.
    pub fn gradient_mut<T: Element>(&mut self, parameter: usize) -> Result<&mut [T]> {
        self.check_idle()?;
        unsafe { self.place(parameter) }
    }

    /// The gradient of a parameter on a device, between passes.
    ///
    /// # Safety
    /// As for [`DeviceSlice::new`]: what uses the slice is done, or enqueued on the program's stream,
    /// before the next pass begins and before the reducer is dropped.
    pub unsafe fn device_gradient<T: Element>(&self, parameter: usize) -> Result<DeviceSlice<T>> {
        self.check_idle()?;
        self.device_place(parameter)
    }

    /// How often gradients have moved, which only [`Reducer::begin`] and [`Reducer::shrink`] do.
    pub fn generation(&self) -> usize {
        unsafe { raw::tutti_reducer_generation(self.handle) as usize }
    }

    /// One of the buckets between passes; the first one is always there, and tells how many there
    /// are.
    pub fn bucket(&self, index: usize) -> Result<Bucket<'_>> {
        self.check_idle()?;
        let (index, mut bucket) = (c_int(index, "index")?, empty_bucket());
        check(|error| unsafe {
            raw::tutti_reducer_get_bucket(self.handle, index, &mut bucket, error)
        })?;
        Ok(unsafe { Bucket::new(bucket) })
    }

    /// Says that a forward pass begins, so that [`Reducer::logging_data`] can tell how long it takes.
    pub fn begin_forward(&self) -> Result<()> {
        check(|error| unsafe { raw::tutti_reducer_begin_forward(self.handle, error) })
    }

    /// Begins a backward pass. One that is not synchronised sends nothing (torch: `no_sync`), and
    /// counts in the next one that is. A pass that is dropped before [`Pass::finish`] has not ended:
    /// the reducer is then of no more use, but for [`Reducer::shrink`].
    pub fn begin<'g>(&mut self, synchronise: bool) -> Result<Pass<'_, 'g>> {
        check(|error| unsafe { raw::tutti_reducer_begin(self.handle, synchronise.into(), error) })?;
        self.state = State::InPass;
        for slot in &mut self.slots {
            let slot = slot.get_mut().unwrap_or_else(PoisonError::into_inner);
            (slot.is_taken, slot.marks) = (false, 0);
        }
        Ok(Pass::new(self, synchronise))
    }

    /// A pass is over, or will be when its work is done.
    pub(crate) fn end_pass(&mut self, synchronised: bool, work: Option<Arc<Handle>>) {
        self.state = work.map_or(State::Idle, State::Finishing);
        if !(self.learns && synchronised) {
            return;
        }
        self.learns = false;
        for slot in &mut self.slots {
            let slot = slot.get_mut().unwrap_or_else(PoisonError::into_inner);
            slot.most_marks = slot.marks;
        }
    }

    /// A whole backward pass: [`Reducer::begin`], the function, which marks each gradient that it
    /// has computed, and [`Pass::finish`]. If the function fails, the pass has not ended.
    pub fn backward<'g, F>(&mut self, synchronise: bool, compute: F) -> Result<()>
    where
        F: FnOnce(&Pass<'_, 'g>) -> Result<()>,
    {
        let pass = self.begin(synchronise)?;
        compute(&pass)?;
        pass.finish()
    }

    /// Whether any rank had a gradient for a parameter in the last synchronised pass.
    pub fn is_used(&self, parameter: usize) -> bool {
        unsafe { raw::tutti_reducer_is_used(self.handle, c_index(parameter)) == 1 }
    }

    /// Copies buffers of the rank `src` to all ranks, for instance running statistics. All ranks
    /// call it between two passes. They are on the CPU or on the device of the parameters.
    pub fn sync_buffers(&mut self, buffers: &[Parameter<'_>], src: usize) -> Result<()> {
        let (buffers, src) = (buffers_of(buffers), c_int(src, "src")?);
        check(|error| unsafe {
            let (first, count) = (buffers.as_ptr(), buffers.len() as i64);
            raw::tutti_reducer_sync_buffers(self.handle, first, count, src, error)
        })
    }

    /// Has a function reduce each bucket, with a group of its own, instead of the all_reduce and the
    /// division. It is called on a thread of the reducer, one bucket after the other, on all ranks in
    /// the same order. All ranks set it before the same pass. If it fails or panics, so does the
    /// reducer.
    pub fn set_hook<F>(&mut self, hook: F) -> Result<()>
    where
        F: FnMut(&Group, &mut BucketMut<'_>) -> Result<()> + Send + 'static,
    {
        give_hook(self.handle, Box::new(hook))
    }

    /// Has the reducer reduce buckets itself again.
    pub fn reset_hook(&mut self) -> Result<()> {
        check(|error| unsafe {
            raw::tutti_reducer_set_hook(self.handle, None, null_mut(), None, error)
        })
    }

    /// Chooses how gradients travel, and takes a hook away. All ranks call it between the same
    /// passes, and it returns when they have.
    pub fn set_compression(&mut self, compression: Compression) -> Result<()> {
        check(|error| unsafe {
            raw::tutti_reducer_set_compression(self.handle, compression, error)
        })
    }

    /// Has gradients travel as products of two matrices with few columns (PowerSGD). All ranks call
    /// it between the same passes, and it returns when they have. It takes a hook away.
    ///
    /// `rows` has a number for each parameter: the rows of its row-major matrix, which is its first
    /// dimension; 0: it is no matrix, and travels as it is.
    pub fn set_power_sgd(&mut self, rows: &[usize], options: PowerSgdOptions) -> Result<()> {
        let (rows, options) = (c_indices(rows), options.to_c());
        check(|error| unsafe {
            let (first, count) = (rows.as_ptr(), rows.len() as i64);
            raw::tutti_reducer_set_power_sgd(self.handle, first, count, &options, error)
        })
    }

    /// Lets the reducer go on in another group, mostly one that [`Group::shrink`] has made after the
    /// death of a rank. Parameters, options, the hook and the compression stay; everything else is as
    /// after [`Reducer::new`]: gradients have moved and are zero. No pass before counts any more, one
    /// that was interrupted or that was not synchronised, so the program repeats its step from the
    /// first forward pass. Ranks that had ended the pass may be one step ahead of the others: the
    /// program makes the parameters equal. Every rank of the group calls it, with the same model; one
    /// that has no reducer yet makes one with `no_initial_broadcast`. It may be repeated after an
    /// error.
    pub fn shrink(&mut self, group: &Group) -> Result<()> {
        check(|error| unsafe { raw::tutti_reducer_shrink(self.handle, group.raw(), error) })?;
        self.state = State::Idle;
        self.learns = self.is_static;
        for slot in &mut self.slots {
            *slot.get_mut().unwrap_or_else(PoisonError::into_inner) = Slot::new(self.is_static);
        }
        Ok(())
    }

    /// The reducer's state and statistics, as a map with the keys of torch's
    /// `_get_ddp_logging_data`; times are in nanoseconds.
    pub fn logging_data(&self) -> Result<Value> {
        let mut object = null_mut();
        check(|error| unsafe { raw::tutti_reducer_logging_data(self.handle, &mut object, error) })?;
        unsafe { Object::adopt(object) }.to_value()
    }
}

impl Drop for Reducer {
    fn drop(&mut self) {
        unsafe { raw::tutti_reducer_release(self.handle) }
    }
}

impl fmt::Debug for Reducer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Reducer({} parameters)", self.slots.len())
    }
}
