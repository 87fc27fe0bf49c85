//! Memory and streams of devices: what is refused without one, and sums on one where there is one.
mod support;

use std::ffi::{c_void, CString};
use std::os::raw::{c_char, c_int, c_uint};
use std::ptr::null_mut;
use support::on_ranks;
use tutti::{Device, DeviceSlice, DeviceType, Group, GroupOptions, Mesh, NewGroupOptions};
use tutti::{P2pOp, Parameter, ReduceOp, Reducer, ReducerOptions, Result, Status};

const THERE: *mut f32 = 0x7000_0000 as *mut f32;

/// Whether a library of devices can be had.
fn library() -> Option<String> {
    std::env::var("TUTTI_CUDA_LIBRARY").ok()
}

/// Memory that is nowhere: it is refused before anything reads it.
fn nowhere(len: usize, index: usize) -> DeviceSlice<f32> {
    unsafe { DeviceSlice::new(THERE, len, Device::cuda(index)) }
}

#[track_caller]
fn refused<R>(result: Result<R>, name: &str) {
    let error = result.map(drop).unwrap_err();
    assert_eq!(error.status(), Status::UNSUPPORTED, "{error}");
    assert!(error.message().contains(name) && error.message().contains("cuda"), "{error}");
}

#[test]
fn a_slice_is_as_it_was_made() {
    let slice = nowhere(10, 1);
    assert_eq!((slice.as_ptr(), slice.len(), slice.is_empty()), (THERE, 10, false));
    let part = slice.part(4..10);
    assert_eq!((part.as_ptr() as usize - THERE as usize, part.len()), (16, 6));
    assert_eq!(part.device(), Device { kind: DeviceType::CUDA, index: 1 });
    assert_eq!(format!("{part:?}"), "DeviceSlice(0x70000010, 6 on cuda:1)");
    assert!(std::panic::catch_unwind(|| nowhere(1, 0).part(0..2)).is_err());
}

#[test]
fn without_a_device_every_collective_refuses_it_and_names_it() {
    if library().is_some() {
        return;
    }
    on_ranks(2, |group| {
        let (data, sum) = (nowhere(2, 1), ReduceOp::SUM);
        let (list, none) = ([data.part(0..1), data.part(1..2)], []);
        let gpu = group.on_device();
        refused(gpu.broadcast(data, 0), "data");
        refused(gpu.all_reduce(data, sum), "data.");
        refused(gpu.all_reduce_into(data, data, sum), "put");
        refused(gpu.reduce(data, sum, 0), "data.");
        refused(gpu.reduce_into(data, None, sum, 1 - group.rank()), "put");
        refused(gpu.all_gather(list[0], &list), "put");
        refused(gpu.all_gather_in_place(&list), "outputs[0]");
        refused(gpu.all_gather_into_tensor(list[0], data), "put");
        refused(gpu.all_gather_into_tensor_in_place(data), "output");
        refused(gpu.gather(list[0], &list, 0), "put");
        refused(gpu.gather_in_place(&list, group.rank()), "outputs[0]");
        refused(gpu.scatter(&list, list[0], 0), "put");
        refused(gpu.scatter_in_place(&list, group.rank()), "inputs[0]");
        refused(gpu.reduce_scatter(&list, list[0], sum), "put");
        refused(gpu.reduce_scatter_tensor(data, list[0], sum), "put");
        refused(gpu.all_to_all(&list, &list), "put");
        refused(gpu.all_to_all_in_place(&list), "outputs[0]");
        refused(gpu.all_to_all_single(data, data), "put");
        refused(gpu.all_to_all_single_in_place(data), "output");
        refused(gpu.all_to_all_single_with_splits(data, &[1, 1], data, &[1, 1]), "put");
        refused(gpu.all_reduce_addends::<f32>(&none, data, sum), "output");
        refused(gpu.broadcast_multigpu(&list, 0, 0), "buffers[0]");
        refused(gpu.all_reduce_multigpu(&list, sum), "buffers[0]");
        refused(gpu.reduce_multigpu(&list, sum, 0, 0), "buffers[0]");
        refused(gpu.all_gather_multigpu(&list[..1], &list), "puts[0]");
        refused(gpu.reduce_scatter_multigpu(&list, &list[..1], sum), "puts[0]");
        refused(gpu.send(data, 0, 0), "data");
        refused(gpu.recv(data, 0, 0), "data");
        refused(group.alloc_on::<f32>(Device::cuda(0), 10), "options.device_type");
        let device = Some(Device::cuda(1));
        let options = NewGroupOptions { device, ..Default::default() };
        refused(group.new_group(None, &options), "options.device_type");
        let options = GroupOptions { device, ..Default::default() };
        refused(Mesh::init(Some(group), DeviceType::CPU, &[2], &[], options), "options");
        assert_eq!(group.bound_device().unwrap(), None);
        let model = [Parameter::on_device("one", data)];
        refused(Reducer::new(group, &model, &ReducerOptions::default()), "parameters[0]");
        group.barrier().unwrap();
    });
}

#[test]
fn without_a_device_what_runs_in_the_background_refuses_it() {
    if library().is_some() {
        return;
    }
    on_ranks(2, |group| {
        let (data, start) = (nowhere(2, 1), group.start());
        refused(start.all_reduce(data, ReduceOp::SUM), "data.");
        refused(start.reduce(data, ReduceOp::SUM, 0), "data.");
        refused(start.all_gather(data.part(0..1), vec![data, data]), "put");
        refused(start.all_reduce_multigpu(vec![data], ReduceOp::SUM), "buffers[0]");
        refused(start.send(data, 0, 0), "data");
        refused(start.recv(data, 0, 0), "data");
        refused(start.send_bytes(unsafe_bytes(), 0, 0), "data");
        refused(start.scatter_bytes(vec![unsafe_bytes()], 0), "data");
        let ops = || vec![P2pOp::Isend { data, dst: 0, tag: 0 }];
        refused(start.batch_isend_irecv(ops()), "ops[0]");
        refused(group.batch_isend_irecv(ops()), "ops[0]");
        refused(start.coalesce_on(Device::cuda(0), |_| Ok(())), "options.device_type");
        refused(start.coalesce(|all| all.all_reduce(data, ReduceOp::SUM).map(drop)), "data.");
        group.barrier().unwrap();
    });
}

fn unsafe_bytes() -> DeviceSlice<u8> {
    unsafe { DeviceSlice::new(THERE.cast(), 1, Device::cuda(0)) }
}

#[test]
fn a_slice_says_where_it_is_and_c_hears_it() {
    on_ranks(1, |group| {
        let on = |kind, index| unsafe { DeviceSlice::new(THERE, 1, Device { kind, index }) };
        let said = |slice| group.on_device().broadcast(slice, 0).unwrap_err();
        let error = said(on(DeviceType::CPU, 3));
        assert!(error.message().contains("data.device_index is 3"), "{error}");
        let error = said(on(DeviceType(77), 0));
        assert!(error.message().contains("data.device_type is 77"), "{error}");
        let error = group.alloc_on::<u8>(Device { kind: DeviceType::CPU, index: 5 }, 1);
        assert!(error.unwrap_err().message().contains("device_index is 5"));
    });
}

#[test]
fn a_stream_is_refused_with_memory_of_the_cpu() {
    on_ranks(2, |group| {
        let stream = 0x5000 as *mut c_void;
        let on_stream = unsafe { group.with_stream(stream) };
        let error = on_stream.all_reduce(&mut [1.0], ReduceOp::SUM).unwrap_err();
        assert!(error.message().contains("the stream"), "{error}");
        assert!(on_stream.start().all_reduce(vec![1.0], ReduceOp::SUM).is_err());
        assert!(on_stream.send(&[1.0], 0, 0).is_err());
        let mut values = [1.0];
        let model = [Parameter::new("one", &mut values)];
        let error = Reducer::new(&on_stream, &model, &ReducerOptions::default()).unwrap_err();
        assert!(error.message().contains("the stream is given"), "{error}");
        let without = unsafe { on_stream.with_stream(null_mut()) };
        without.all_reduce(&mut [1.0], ReduceOp::SUM).unwrap();
        let work = group.start().all_reduce(vec![1.0], ReduceOp::SUM).unwrap();
        unsafe { work.synchronize(null_mut()) }.unwrap();
        assert!(work.is_completed());
        assert!(library().is_some() || unsafe { work.synchronize(stream) }.is_err());
        assert_eq!(work.wait().unwrap(), [2.0]);
    });
}

#[track_caller]
fn says<R>(result: Result<R>, what: &str) {
    let error = result.map(drop).unwrap_err();
    assert_eq!(error.status(), Status::INVALID_ARGUMENT, "{error}");
    assert!(error.message().contains(what), "{error}");
}

#[test]
fn lists_of_several_gpus_need_them_and_are_as_long_as_they_must_be() {
    on_ranks(2, |group| {
        let (start, sum) = (group.start(), ReduceOp::SUM);
        let list = |len| vec![vec![1.0_f32]; len];
        says(start.broadcast_multigpu(list(1), 0, 0), "buffers[0] is on the CPU");
        says(start.all_reduce_multigpu(list(2), sum), "buffers[0] is on the CPU");
        says(start.reduce_multigpu(list(2), sum, 1, 1), "buffers[0] is on the CPU");
        says(start.all_gather_multigpu(list(1), list(2)), "inputs[0] is on the CPU");
        says(start.reduce_scatter_multigpu(list(8), list(2), sum), "outputs[0] is on the CPU");
        says(start.broadcast_multigpu(list(1), 2, 0), ": src is 2");
        says(start.broadcast_multigpu(list(2), 1, 2), ": src_tensor is 2");
        says(start.broadcast_multigpu(list(1), 0, usize::MAX), "src_tensor is");
        says(start.reduce_multigpu(list(2), sum, 2, 1), ": dst is 2");
        says(start.reduce_multigpu(list(1), sum, 1, 1), ": dst_tensor is 1");
        says(start.all_reduce_multigpu(list(0), sum), "buffers is empty");
        says(
            start.all_gather_multigpu(list(1), list(1)),
            "outputs.len() is 1, but must be 2: 1 * 1 GPUs",
        );
        says(
            start.reduce_scatter_multigpu(list(2), list(2), sum),
            "inputs.len() is 2, but must be 8: 2 * 2 GPUs",
        );
        let cpu = Device { kind: DeviceType::CPU, index: 0 };
        let cpu = [unsafe { DeviceSlice::new(THERE, 1, cpu) }];
        let gpu = group.on_device();
        says(gpu.broadcast_multigpu(&cpu, 1, 0), "buffers[0] is on the CPU");
        says(gpu.broadcast_multigpu(&cpu, 0, 1), ": src_tensor is 1");
        says(gpu.all_reduce_multigpu(&cpu, sum), "buffers[0] is on the CPU");
        says(gpu.reduce_multigpu(&cpu, sum, 1, 0), "buffers[0] is on the CPU");
        says(gpu.reduce_multigpu(&cpu, sum, 0, 1), ": dst_tensor is 1");
        says(gpu.all_gather_multigpu(&cpu, &[cpu[0]; 3]), "outputs.len() is 3");
        says(gpu.reduce_scatter_multigpu(&[cpu[0]; 3], &cpu, sum), "inputs.len() is 3");
        let on_stream = unsafe { group.with_stream(0x5000 as *mut c_void) };
        says(on_stream.on_device().all_reduce_multigpu(&cpu, sum), "the stream must be none");
        let together = start.coalesce(|all| all.all_reduce_multigpu(list(1), sum).map(drop));
        says(together, "cannot be coalesced");
        group.barrier().unwrap();
    });
}

extern "C" {
    fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// The driver's functions that a program calls, of the library that tutti takes.
struct Driver {
    read: unsafe extern "C" fn(*mut c_void, u64, usize) -> c_int,
    write: unsafe extern "C" fn(u64, *const c_void, usize) -> c_int,
    count: unsafe extern "C" fn(*mut c_int) -> c_int,
    retain: unsafe extern "C" fn(*mut *mut c_void, c_int) -> c_int,
    use_context: unsafe extern "C" fn(*mut c_void) -> c_int,
    create: unsafe extern "C" fn(*mut *mut c_void, c_uint) -> c_int,
    wait_for: unsafe extern "C" fn(*mut c_void) -> c_int,
}

impl Driver {
    fn of(path: &str) -> Driver {
        Driver {
            read: function(path, "cuMemcpyDtoH_v2"),
            write: function(path, "cuMemcpyHtoD_v2"),
            count: function(path, "cuDeviceGetCount"),
            retain: function(path, "cuDevicePrimaryCtxRetain"),
            use_context: function(path, "cuCtxSetCurrent"),
            create: function(path, "cuStreamCreate"),
            wait_for: function(path, "cuStreamSynchronize"),
        }
    }

    /// How many devices there are.
    fn devices(&self) -> c_int {
        let mut count = 0;
        assert_eq!(unsafe { (self.count)(&mut count) }, 0);
        count
    }

    /// The device is this thread's from here on.
    fn enter(&self, device: usize) {
        let mut context = null_mut();
        assert_eq!(unsafe { (self.retain)(&mut context, device as c_int) }, 0);
        assert_eq!(unsafe { (self.use_context)(context) }, 0);
    }

    fn stream(&self) -> *mut c_void {
        let mut stream = null_mut();
        assert_eq!(unsafe { (self.create)(&mut stream, 0) }, 0);
        stream
    }

    fn wait_for(&self, stream: *mut c_void) {
        assert_eq!(unsafe { (self.wait_for)(stream) }, 0);
    }

    fn write(&self, slice: DeviceSlice<f32>, values: &[f32]) {
        assert_eq!(slice.len(), values.len());
        let (to, bytes) = (slice.as_ptr() as u64, 4 * slice.len());
        assert_eq!(unsafe { (self.write)(to, values.as_ptr().cast(), bytes) }, 0);
    }

    fn read(&self, slice: DeviceSlice<f32>) -> Vec<f32> {
        let mut values = vec![0.0_f32; slice.len()];
        let (from, bytes) = (slice.as_ptr() as u64, 4 * slice.len());
        assert_eq!(unsafe { (self.read)(values.as_mut_ptr().cast(), from, bytes) }, 0);
        values
    }
}

fn function<F: Copy>(path: &str, name: &str) -> F {
    let (path, name) = (CString::new(path).unwrap(), CString::new(name).unwrap());
    unsafe {
        let library = dlopen(path.as_ptr(), 2);
        assert!(!library.is_null(), "{path:?} cannot be loaded");
        let function = dlsym(library, name.as_ptr());
        assert!(!function.is_null(), "there is no {name:?}");
        std::mem::transmute_copy(&function)
    }
}

/// Runs a function with memory of a device, where there is one.
fn on_a_device(function: impl Fn(&Driver, &Group, DeviceSlice<f32>) + Sync) {
    let driver = match library() {
        Some(path) => Driver::of(&path),
        None => return,
    };
    on_ranks(2, |group| {
        let buffer = group.alloc_on::<f32>(Device::cuda(0), 1000).unwrap();
        driver.enter(0);
        function(&driver, group, unsafe { buffer.slice() });
        group.barrier().unwrap();
    });
}

#[test]
fn sums_on_a_device_are_there_where_there_is_one() {
    on_a_device(|driver, group, slice| {
        driver.write(slice, &[group.rank() as f32 + 1.0; 1000]);
        group.on_device().all_reduce(slice, ReduceOp::SUM).unwrap();
        assert_eq!(driver.read(slice), [3.0; 1000]);
        let work = group.start().all_reduce(slice.part(0..10), ReduceOp::MAX).unwrap();
        assert_eq!(driver.read(work.wait().unwrap()), [3.0; 10]);
        let stream = driver.stream();
        let on_stream = unsafe { group.with_stream(stream) };
        on_stream.on_device().all_reduce(slice, ReduceOp::MAX).unwrap();
        let work = on_stream.start().all_reduce(slice, ReduceOp::SUM).unwrap();
        unsafe { work.synchronize(stream) }.unwrap();
        driver.wait_for(stream);
        assert_eq!(driver.read(slice), [6.0; 1000]);
        work.wait().unwrap();
        lists_and_messages(group, slice);
        let wanted = if group.rank() == 0 { [12.0, 6.0] } else { [12.0, 12.0] };
        assert_eq!(driver.read(slice.part(0..2)), wanted);
        let device = Some(Device::cuda(0));
        let options = NewGroupOptions { device, ..Default::default() };
        let bound = group.new_group(None, &options).unwrap().unwrap();
        assert_eq!(bound.bound_device().unwrap(), device);
        bound.on_device().all_reduce(slice, ReduceOp::MAX).unwrap();
        let options = GroupOptions { device, ..Default::default() };
        let mesh = Mesh::init(Some(group), DeviceType::CUDA, &[2], &[], options).unwrap();
        assert_eq!(mesh.group(0).unwrap().unwrap().bound_device().unwrap(), device);
    });
}

/// In the first place 6 becomes 12 on both ranks, and goes to the second place of rank 1.
fn lists_and_messages(group: &Group, all: DeviceSlice<f32>) {
    let (rank, gpu) = (group.rank(), group.on_device());
    let (first, second) = (all.part(0..1), all.part(1..2));
    let (_, together) = group
        .start()
        .coalesce_on(Device::cuda(0), |start| {
            drop(start.all_reduce(first, ReduceOp::SUM)?);
            drop(start.all_reduce(all.part(2..10), ReduceOp::MAX)?);
            Ok(())
        })
        .unwrap();
    together.wait().unwrap();
    // Ranks give 1 and 2 elements, and each has all three behind the tenth.
    let pieces = [all.part(10..11), all.part(11..13)];
    gpu.all_gather(all.part(20..21 + rank), &pieces).unwrap();
    gpu.all_to_all_single_with_splits(all.part(30..32), &[1, 1], all.part(40..42), &[1, 1])
        .unwrap();
    if rank == 0 {
        gpu.send(first, 1, 5).unwrap();
    } else {
        assert_eq!(gpu.recv(second, 0, 5).unwrap(), 0);
    }
}

/// The memory of a rank with two devices.
struct OnTwo<'d> {
    driver: &'d Driver,
    group: &'d Group,
    devices: [DeviceSlice<f32>; 2],
}

impl OnTwo<'_> {
    /// How many devices all ranks have, and which of them this one is.
    fn devices(&self) -> usize {
        2 * self.group.world_size()
    }
    fn number(&self, device: usize) -> usize {
        2 * self.group.rank() + device
    }

    /// Three elements of a device, all of this value; others for another place.
    fn new(&self, device: usize, place: usize, value: usize) -> DeviceSlice<f32> {
        let slice = self.devices[device].part(3 * place..3 * place + 3);
        self.driver.enter(device);
        self.driver.write(slice, &[value as f32; 3]);
        slice
    }

    /// Such elements in the first place of each device.
    fn list(&self, value: impl Fn(usize) -> usize) -> Vec<DeviceSlice<f32>> {
        (0..2).map(|device| self.new(device, 0, value(device))).collect()
    }

    /// Those for each device of all ranks, on each of this one.
    fn lists(&self, value: impl Fn(usize, usize) -> usize) -> Vec<DeviceSlice<f32>> {
        let all = self.devices();
        let place = |i| self.new(i / all, 1 + i % all, value(i / all, i % all));
        (0..2 * all).map(place).collect()
    }

    #[track_caller]
    fn expect(&self, slices: &[DeviceSlice<f32>], wanted: impl Fn(usize) -> f32) {
        for (i, &slice) in slices.iter().enumerate() {
            self.driver.enter(slice.device().index);
            assert_eq!(self.driver.read(slice), [wanted(i); 3], "slice {i}");
        }
    }
}

/// Runs a function with memory of two devices on each of one and of two ranks, where there are two.
fn on_two_devices(function: impl Fn(&OnTwo<'_>) + Sync) {
    let driver = match library() {
        Some(path) => Driver::of(&path),
        None => return,
    };
    for ranks in 1..=2 {
        on_ranks(ranks, |group| {
            let first = group.alloc_on::<f32>(Device::cuda(0), 100).unwrap();
            if driver.devices() < 2 {
                return;
            }
            let second = group.alloc_on::<f32>(Device::cuda(1), 100).unwrap();
            let devices = unsafe { [first.slice(), second.slice()] };
            function(&OnTwo { driver: &driver, group, devices });
            group.barrier().unwrap();
        });
    }
}

#[test]
fn ranks_with_two_devices_reduce_them_all() {
    on_two_devices(|on| {
        let (gpu, start, all) = (on.group.on_device(), on.group.start(), on.devices());
        let numbers = || on.list(|device| on.number(device));
        let sum = (all * (all - 1) / 2) as f32;
        let list = numbers();
        gpu.all_reduce_multigpu(&list, ReduceOp::SUM).unwrap();
        on.expect(&list, |_| sum);
        let work = start.all_reduce_multigpu(numbers(), ReduceOp::AVG).unwrap();
        on.expect(&work.wait().unwrap(), |_| sum / all as f32);
        for destination in 0..all {
            let (dst, tensor) = (destination / 2, destination % 2);
            let wanted = |device| match on.number(device) {
                number if number == destination => sum,
                number => number as f32,
            };
            let list = numbers();
            gpu.reduce_multigpu(&list, ReduceOp::SUM, dst, tensor).unwrap();
            on.expect(&list, wanted);
            let work = start.reduce_multigpu(numbers(), ReduceOp::SUM, dst, tensor).unwrap();
            on.expect(&work.wait().unwrap(), wanted);
        }
        let inputs = || on.lists(|device, other| 100 * other + on.number(device));
        let wanted = |device| (100 * all * on.number(device)) as f32 + sum;
        let outputs = on.list(|_| 9);
        gpu.reduce_scatter_multigpu(&inputs(), &outputs, ReduceOp::SUM).unwrap();
        on.expect(&outputs, wanted);
        let outputs = on.list(|_| 9);
        let work = start.reduce_scatter_multigpu(inputs(), outputs, ReduceOp::SUM).unwrap();
        on.expect(&work.wait().unwrap(), wanted);
    });
}

#[test]
fn ranks_with_two_devices_move_what_is_on_them() {
    on_two_devices(|on| {
        let (gpu, start, all) = (on.group.on_device(), on.group.start(), on.devices());
        let numbers = || on.list(|device| 50 + on.number(device));
        for source in 0..all {
            let (src, tensor) = (source / 2, source % 2);
            let work = start.broadcast_multigpu(numbers(), src, tensor).unwrap();
            on.expect(&work.wait().unwrap(), |_| 50.0 + source as f32);
            let list = numbers();
            gpu.broadcast_multigpu(&list, src, tensor).unwrap();
            on.expect(&list, |_| 50.0 + source as f32);
        }
        let outputs = || on.lists(|_, _| 9);
        let list = outputs();
        gpu.all_gather_multigpu(&numbers(), &list).unwrap();
        on.expect(&list, |i| 50.0 + (i % all) as f32);
        let work = start.all_gather_multigpu(numbers(), outputs()).unwrap();
        on.expect(&work.wait().unwrap(), |i| 50.0 + (i % all) as f32);
        let swapped: Vec<_> = numbers().into_iter().rev().collect();
        says(gpu.all_reduce_multigpu(&swapped, ReduceOp::SUM), "all must have the same");
        let twice = [swapped[0]; 2];
        says(gpu.all_reduce_multigpu(&twice, ReduceOp::SUM), "as is buffers[0]");
        let uneven = [swapped[1], swapped[0].part(0..2)];
        says(gpu.all_reduce_multigpu(&uneven, ReduceOp::SUM), "buffers[1].count is 2, not 3");
    });
}

/// Runs a function with memory of a device, without a stream and with one.
fn on_streams(function: impl Fn(&Driver, &Group, DeviceSlice<f32>, *mut c_void) + Sync) {
    on_a_device(|driver, group, slice| {
        for stream in [null_mut(), driver.stream()] {
            driver.write(slice, &[group.rank() as f32; 1000]);
            function(driver, group, slice, stream);
        }
    });
}

/// A reducer of two parameters and an empty one, each in a bucket of its own.
fn model(group: &Group, values: DeviceSlice<f32>, stream: *mut c_void) -> Reducer {
    let parameters = [
        Parameter::on_device("weights", values.part(0..298)),
        Parameter::on_device("bias", values.part(298..300)),
        Parameter::on_device("nothing", values.part(0..0)),
    ];
    let options = ReducerOptions {
        bucket_cap_bytes: 1000,
        first_bucket_cap_bytes: 8,
        ..ReducerOptions::default()
    };
    Reducer::new(&unsafe { group.with_stream(stream) }, &parameters, &options).unwrap()
}

#[test]
fn gradients_on_a_device_follow_the_stream_of_the_program() {
    on_streams(|driver, group, all, stream| {
        let (values, own, mine) = (all.part(0..300), all.part(300..598), group.rank() as f32 + 1.0);
        let mut reducer = model(group, values, stream);
        driver.wait_for(stream);
        assert_eq!(driver.read(values), [0.0; 300]); // of rank 0
        for number in [1.0, 2.0, 3.0] {
            let pass = reducer.begin(true).unwrap();
            driver.write(own, &[number * mine; 298]);
            pass.mark_ready_from_device(0, own).unwrap();
            let place = unsafe { pass.device_gradient::<f32>(1) }.unwrap();
            driver.write(place, &[4.0 * mine, -mine]);
            pass.mark_ready(1).unwrap();
            assert!(pass.mark_ready(1).unwrap_err().message().contains("marked before"));
            pass.mark_ready(2).unwrap();
            pass.finish().unwrap();
            driver.wait_for(stream);
            assert_eq!(driver.read(own), [1.5 * number; 298]);
            let bias = unsafe { reducer.device_gradient::<f32>(1) }.unwrap();
            assert_eq!((driver.read(bias), bias.device()), (vec![6.0, -1.5], Device::cuda(0)));
            assert!(unsafe { reducer.device_gradient::<f32>(2) }.unwrap().is_empty());
        }
        let (means, mut count) = (all.part(600..1000), [group.rank() as i64]);
        let buffers = [Parameter::on_device("means", means), Parameter::new("count", &mut count)];
        reducer.sync_buffers(&buffers, 1).unwrap();
        driver.wait_for(stream);
        assert_eq!((driver.read(means), count), (vec![1.0; 400], [1]));
    });
}

#[test]
fn a_hook_and_an_optimizer_have_buckets_on_a_device() {
    on_streams(|driver, group, all, stream| {
        let mut reducer = model(group, all.part(0..300), stream);
        reducer
            .set_hook(|group, bucket| {
                assert!(!bucket.stream().is_null());
                let on_stream = unsafe { group.with_stream(bucket.stream()) };
                let gradients = unsafe { bucket.device_gradients::<f32>() }?;
                on_stream.on_device().all_reduce(gradients, ReduceOp::MAX)
            })
            .unwrap();
        let pass = reducer.begin(true).unwrap();
        for parameter in 0..3 {
            let place = unsafe { pass.device_gradient::<f32>(parameter) }.unwrap();
            driver.write(place, &vec![group.rank() as f32 + 1.0; place.len()]);
            pass.mark_ready(parameter).unwrap();
        }
        let mut finishing = pass.start_finish().unwrap();
        let mut elements = 0;
        while let Some(bucket) = finishing.next_bucket().unwrap() {
            let gradients = unsafe { bucket.device_gradients::<f32>() }.unwrap();
            driver.wait_for(stream);
            assert_eq!(driver.read(gradients), vec![2.0; gradients.len()]);
            assert!(unsafe { bucket.device_gradients::<f64>() }.is_err());
            let refused = bucket.gradients::<f32>().unwrap_err();
            assert!(refused.message().contains("is on cuda:0, not on the CPU"), "{refused}");
            elements += gradients.len();
        }
        assert_eq!(elements, 300);
        unsafe { finishing.synchronize(stream) }.unwrap();
        finishing.wait().unwrap();
    });
}

#[test]
fn gradients_on_a_device_are_no_slices_of_the_cpu() {
    on_streams(|driver, group, all, stream| {
        let mut reducer = model(group, all.part(0..300), stream);
        let on_device = "parameter 1 is on cuda:0, not on the CPU";
        let refuses = |error: tutti::Error, what: &str| {
            assert!(error.message().contains(what), "{error}");
        };
        refuses(reducer.gradient::<f32>(1).unwrap_err(), on_device);
        refuses(reducer.gradient_mut::<f32>(1).unwrap_err(), on_device);
        let wrong_type = unsafe { reducer.device_gradient::<f64>(1) };
        refuses(wrong_type.unwrap_err(), "parameter 1 is of TUTTI_FLOAT32");
        let mut own = [1.0_f32; 2];
        let pass = reducer.begin(true).unwrap();
        refuses(pass.gradient::<f32>(1).unwrap_err(), on_device);
        refuses(pass.mark_ready_from(1, &mut own).unwrap_err(), on_device);
        refuses(pass.mark_ready_from_device(1, all.part(0..3)).unwrap_err(), "gradient");
        (0..3).for_each(|parameter| pass.mark_ready(parameter).unwrap());
        pass.finish().unwrap();
        driver.wait_for(stream);
    });
}
