//! Processes made by fork. They are made before there is any thread, so this test has no harness.
use tutti::{
    init_process_group, spawn, spawn_and_go_on, Group, GroupOptions, Init, ReduceOp, ShrinkOptions,
    SpawnOptions, Status, Store,
};

/// A rank of the processes' one group.
fn rank(local_rank: usize) -> tutti::Result<()> {
    let world = init_process_group(&Init::default())?;
    assert_eq!(world.rank(), local_rank);
    let mut sum = [local_rank as i64 + 1];
    world.all_reduce(&mut sum, ReduceOp::SUM)?;
    assert_eq!(sum, [6]);
    world.destroy()
}

extern "C" {
    fn _exit(code: i32) -> !;
}

/// The others go on without rank 1, which goes without a word.
fn survivor(local_rank: usize) -> tutti::Result<()> {
    let world = init_process_group(&Init::default())?;
    let failure = world.failure()?;
    if local_rank == 1 {
        for other in [0, 2] {
            world.recv(&mut [0_u8], other, 0)?; // it has made the group
        }
        unsafe { _exit(0) }
    }
    let _ = world.send(&[0_u8], 1, 0);
    let lost = failure.wait().unwrap_err();
    assert_eq!((lost.status(), lost.rank()), (Status::PEER_LOST, Some(1)), "{lost}");
    assert_eq!(world.barrier().unwrap_err().status(), Status::PEER_LOST);
    assert_eq!(world.agree(3 + local_rank as u64)?, 1);
    world.shrink(&[], &ShrinkOptions::default())?;
    assert_eq!((world.rank(), world.world_size()), (local_rank / 2, 2));
    let mut sum = [local_rank as i64];
    world.all_reduce(&mut sum, ReduceOp::SUM)?;
    assert_eq!(sum, [2]);
    world.destroy()
}

/// Not even memory, which would not be in the processes.
fn nothing_of_tutti_may_be_there() {
    let (options, store) = (SpawnOptions::default(), Store::hash().unwrap());
    let group = Group::create(None, &store, 0, 1, GroupOptions::default()).unwrap();
    let buffer = group.alloc::<u8>(10).unwrap();
    drop((store, group));
    let reads = |_| if buffer[9] == 0 { Ok(()) } else { Err("it was zero") };
    let error = spawn(1, &options, reads).unwrap_err();
    assert_eq!(error.status(), Status::UNSUPPORTED, "{error}");
    assert!(error.message().contains("buffers"), "{error}");
    drop(buffer);
    spawn(1, &options, |_| Ok::<_, &str>(())).unwrap();
}

/// An error that panics when it is to say what it is.
#[derive(Debug)]
struct Untold;

impl std::fmt::Display for Untold {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        panic!("on purpose")
    }
}

impl std::error::Error for Untold {}

fn main() {
    let options = SpawnOptions::default();
    spawn(3, &options, rank).unwrap();
    let processes = spawn_and_go_on(3, &options, rank).unwrap();
    processes.wait().unwrap();
    spawn(3, &options, survivor).unwrap();

    let fails = |local_rank| match local_rank {
        1 => Err("one of them has a bad day"),
        _ => Ok(()),
    };
    let error = spawn(2, &options, fails).unwrap_err();
    assert_eq!(error.rank(), Some(1));
    assert!(error.message().contains("a bad day"), "{error}");

    let keeps = |_| Err(tutti::Error::new(Status::TIMEOUT, "too late"));
    assert_eq!(spawn(1, &options, keeps).unwrap_err().status(), Status::TIMEOUT);
    let panics = |_| -> tutti::Result<()> { panic!("on purpose") };
    assert!(spawn(1, &options, panics).unwrap_err().message().contains("panicked"));
    let panics_again = |_| -> Result<(), Untold> { Err(Untold) };
    assert!(spawn(1, &options, panics_again).unwrap_err().message().contains("panicked"));
    let exits = |_| -> tutti::Result<()> { std::process::exit(3) };
    assert_eq!(spawn(1, &options, exits).unwrap_err().status(), Status::PEER_LOST);
    assert_eq!(spawn(0, &options, rank).unwrap_err().status(), Status::INVALID_ARGUMENT);
    nothing_of_tutti_may_be_there();
    println!("spawn: ok");
}
