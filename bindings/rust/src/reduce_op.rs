//! The ops of reductions: the library's ops, sums with factors, functions of
//! programs.
use crate::callback::contained;
use crate::element::Element;
use crate::error::{c_text, check, Error, Result};
use crate::memory::reading;
use crate::raw::{self, Dtype, Status};
use std::fmt;
use std::marker::PhantomData;
use std::mem::size_of;
use std::os::raw::c_void;
use std::sync::Arc;

pub use crate::raw::ReduceOp;

/// An op that a program has made, for every group of its process. It is copied by reference, and
/// given back when the last copy and the last operation that was started with it have ended.
#[derive(Clone)]
pub struct CustomOp {
    made: Arc<Made>,
}

struct Made {
    number: ReduceOp,
}

impl Drop for Made {
    fn drop(&mut self) {
        unsafe { raw::tutti_reduce_op_release(self.number) }
    }
}

/// The function of an op, which nothing can call any more.
unsafe extern "C" fn forget(user: *mut c_void) {
    let function = Box::from_raw(user.cast::<Box<dyn Function>>());
    let _ = contained(move || drop(function));
}

/// A function for elements whose type C knows only by number.
trait Function: Send + Sync {
    /// # Safety
    /// The pointers are of `count` elements of `dtype` each.
    unsafe fn call(
        &self,
        from: *const c_void,
        into: *mut c_void,
        count: usize,
        of: Dtype,
    ) -> Result<()>;
}

struct Typed<T, F> {
    function: F,
    element: PhantomData<fn(T)>,
}

impl<T: Element, F: Fn(&[T], &mut [T]) + Send + Sync> Function for Typed<T, F> {
    unsafe fn call(
        &self,
        from: *const c_void,
        into: *mut c_void,
        count: usize,
        of: Dtype,
    ) -> Result<()> {
        if of != T::DTYPE {
            let message = format!("the function is for elements of {:?}, not {of:?}", T::DTYPE);
            return Err(Error::argument(message));
        }
        if count == 0 {
            return Ok(());
        }
        let from = std::slice::from_raw_parts(from.cast(), count);
        let into = std::slice::from_raw_parts_mut(into.cast(), count);
        contained(|| (self.function)(from, into))
            .map_err(|panic| Error::new(Status::BACKEND, format!("the function panicked: {panic}")))
    }
}

unsafe extern "C" fn reduce(
    from: *const c_void,
    into: *mut c_void,
    count: i64,
    of: Dtype,
    user: *mut c_void,
    error: *mut raw::tutti_error,
) -> Status {
    let function = &*user.cast::<Box<dyn Function>>();
    match function.call(from, into, count as usize, of) {
        Ok(()) => Status::OK,
        Err(failure) => {
            failure.write_to(&mut *error);
            failure.status()
        }
    }
}

impl CustomOp {
    /// A sum of inputs that each rank multiplies by its own factor first. An integer factor goes
    /// with every type but [`Bool`](crate::Bool), a floating-point one with floating point and
    /// complex, a complex one with complex.
    pub fn premul_sum<T: Element>(factor: T) -> Result<CustomOp> {
        let mut number = ReduceOp::SUM;
        let factor = [factor];
        let buffer = reading(&factor);
        check(|error| unsafe {
            raw::tutti_reduce_op_create_premul_sum(&buffer, &mut number, error)
        })?;
        Ok(CustomOp { made: Arc::new(Made { number }) })
    }

    /// An op of a function: `inout[i] = input[i] op inout[i]`, for elements of type `T`. It must be
    /// associative and do the same on every rank; `name`, of 1 to 64 bytes, is what ranks compare.
    /// It is called for any part of the data, on any thread, and must call nothing of tutti that
    /// waits for the group. A panic fails the operation, and with it the group.
    pub fn new<T, F>(name: &str, function: F) -> Result<CustomOp>
    where
        T: Element,
        F: Fn(&[T], &mut [T]) + Send + Sync + 'static,
    {
        CustomOp::make::<T, F>(name, function, false)
    }

    /// As [`CustomOp::new`], where `a op b` is not `b op a`: results keep the order of the ranks.
    pub fn non_commutative<T, F>(name: &str, function: F) -> Result<CustomOp>
    where
        T: Element,
        F: Fn(&[T], &mut [T]) + Send + Sync + 'static,
    {
        CustomOp::make::<T, F>(name, function, true)
    }

    fn make<T, F>(name: &str, function: F, non_commutative: bool) -> Result<CustomOp>
    where
        T: Element,
        F: Fn(&[T], &mut [T]) + Send + Sync + 'static,
    {
        let name = c_text(name, "name")?;
        let options = raw::tutti_reduce_op_options {
            struct_size: size_of::<raw::tutti_reduce_op_options>() as u32,
            non_commutative: non_commutative.into(),
        };
        let typed: Box<dyn Function> = Box::new(Typed { function, element: PhantomData });
        let (function, mut number) = (Box::into_raw(Box::new(typed)), ReduceOp::SUM);
        let made = check(|error| unsafe {
            let (name, user, forget, out) =
                (name.as_ptr(), function.cast(), Some(forget as _), &mut number);
            raw::tutti_reduce_op_create_user(name, Some(reduce), user, forget, &options, out, error)
        });
        if let Err(failure) = made {
            drop(unsafe { Box::from_raw(function) });
            return Err(failure);
        }
        Ok(CustomOp { made: Arc::new(Made { number }) })
    }
}

impl fmt::Debug for CustomOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CustomOp({})", self.made.number.0)
    }
}

/// The op of a reduction: a [`ReduceOp`] or a [`CustomOp`].
#[derive(Clone, Debug)]
pub struct Operator {
    number: ReduceOp,
    // Operations keep what they were started with.
    _made: Option<CustomOp>,
}

impl Operator {
    pub(crate) fn number(&self) -> ReduceOp {
        self.number
    }
}

impl From<ReduceOp> for Operator {
    /// Numbers that are not the library's own are refused by every call: an op that was made is
    /// given as what it is.
    fn from(op: ReduceOp) -> Operator {
        let known = op.0 <= ReduceOp::PREMUL_SUM.0;
        Operator { number: if known { op } else { ReduceOp(u32::MAX) }, _made: None }
    }
}

impl From<CustomOp> for Operator {
    fn from(op: CustomOp) -> Operator {
        Operator { number: op.made.number, _made: Some(op) }
    }
}

impl From<&CustomOp> for Operator {
    fn from(op: &CustomOp) -> Operator {
        op.clone().into()
    }
}
