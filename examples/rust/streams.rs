//! An all_reduce on a GPU whose result a stream uses without the CPU waiting for it. Start it with
//!     tuttirun --nproc-per-node 2 rust_streams
//! It asks the CUDA driver for what a crate like cudarc or cust would give it.
use std::ffi::{c_void, CString};
use std::os::raw::{c_char, c_int, c_uint};
use std::ptr::null_mut;
use tutti::{init_process_group, Device, Init, ReduceOp};

extern "C" {
    fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

type Error = Box<dyn std::error::Error>;

struct Driver(*mut c_void);

impl Driver {
    fn load() -> Result<Driver, Error> {
        let path = std::env::var("TUTTI_CUDA_LIBRARY").unwrap_or_else(|_| "libcuda.so.1".into());
        let library = unsafe { dlopen(CString::new(path)?.as_ptr(), 2) };
        if library.is_null() {
            return Err("there is no CUDA driver".into());
        }
        Ok(Driver(library))
    }

    /// A function of the driver; the caller knows its type.
    unsafe fn find<F: Copy>(&self, name: &str) -> F {
        let function = dlsym(self.0, CString::new(name).unwrap().as_ptr());
        assert!(!function.is_null(), "the CUDA driver has no {name}");
        std::mem::transmute_copy(&function)
    }
}

type Create = unsafe extern "C" fn(*mut *mut c_void, c_uint) -> c_int;
type Retain = unsafe extern "C" fn(*mut *mut c_void, c_int) -> c_int;
type Use = unsafe extern "C" fn(*mut c_void) -> c_int;
type Fill = unsafe extern "C" fn(u64, c_uint, usize, *mut c_void) -> c_int;
type CopyAsync = unsafe extern "C" fn(u64, u64, usize, *mut c_void) -> c_int;
type Read = unsafe extern "C" fn(*mut c_void, u64, usize) -> c_int;

fn main() -> Result<(), Error> {
    const COUNT: usize = 1 << 20;
    const BYTES: usize = COUNT * std::mem::size_of::<i32>();
    let world = init_process_group(&Init::default())?;
    let device = Device::cuda(0);
    let memory = world.alloc_on::<i32>(device, COUNT)?;
    let kept = world.alloc_on::<i32>(device, COUNT)?;
    let mut sum = 0_i32;
    unsafe {
        let cuda = Driver::load()?;
        let (mut context, mut producer, mut consumer) = (null_mut(), null_mut(), null_mut());
        cuda.find::<Retain>("cuDevicePrimaryCtxRetain")(&mut context, 0);
        cuda.find::<Use>("cuCtxSetCurrent")(context);
        cuda.find::<Create>("cuStreamCreate")(&mut producer, 1);
        cuda.find::<Create>("cuStreamCreate")(&mut consumer, 1);

        // The all_reduce comes after this, which need not be done when the call is made.
        let (output, result) = (memory.slice(), kept.slice());
        let fill = cuda.find::<Fill>("cuMemsetD32Async");
        fill(output.as_ptr() as u64, world.rank() as c_uint + 1, COUNT, producer);
        let work = world.with_stream(producer).start().all_reduce(output, ReduceOp::SUM)?;

        // The next call on this stream finds the sums.
        work.synchronize(consumer)?;
        let copy = cuda.find::<CopyAsync>("cuMemcpyAsync");
        copy(result.as_ptr() as u64, output.as_ptr() as u64, BYTES, consumer);
        cuda.find::<Use>("cuStreamSynchronize")(consumer);
        let last = result.part(COUNT - 1..COUNT);
        cuda.find::<Read>("cuMemcpyDtoH_v2")((&mut sum as *mut i32).cast(), last.as_ptr() as u64, 4);
        work.wait()?;
    }
    println!("rank {} on cuda:0: sum = {sum}", world.rank());
    drop((memory, kept));
    world.destroy()?;
    Ok(())
}
