//! The price of a call from Rust: rank 0 prints
//!     rust,ns of tutti_get_rank,µs of an all_reduce of 8 bytes,µs of one of 1 MiB
//! Started with 2 ranks; `--short` is for seeing that it works.
use std::time::Instant;
use tutti::{init_process_group, raw, Group, Init, ReduceOp};

/// Nanoseconds of a call: the median of 11 rounds.
fn measure(calls: u32, mut call: impl FnMut() -> tutti::Result<()>) -> tutti::Result<f64> {
    let mut rounds = Vec::new();
    for _ in 0..11 {
        let began = Instant::now();
        for _ in 0..calls {
            call()?;
        }
        rounds.push(began.elapsed().as_nanos() as f64 / f64::from(calls));
    }
    rounds.sort_by(f64::total_cmp);
    Ok(rounds[5])
}

/// Microseconds of a sum: of zeros, which stay what they are, and of nothing else, such as filling
/// the data anew. One more shows that it adds.
fn all_reduce(world: &Group, elements: usize, calls: u32) -> tutti::Result<f64> {
    let mut data = vec![0.0_f64; elements];
    world.barrier()?;
    let took = measure(calls, || world.all_reduce(&mut data, ReduceOp::SUM))?;
    data.fill(1.0);
    world.all_reduce(&mut data, ReduceOp::SUM)?;
    assert!(data.iter().all(|&sum| sum == world.world_size() as f64));
    Ok(took / 1000.0)
}

fn main() -> tutti::Result<()> {
    let short = std::env::args().any(|argument| argument == "--short");
    let scale = if short { 100 } else { 1 };
    let world = init_process_group(&Init::default())?;
    let mut ranks = 0; // the compiler does not know what C does, so every call is made
    let get_rank = measure(1_000_000 / scale, || {
        ranks += i64::from(unsafe { raw::tutti_get_rank(raw::TUTTI_GROUP_WORLD) });
        Ok(())
    })?;
    assert_eq!(ranks, 11 * i64::from(1_000_000 / scale) * world.rank() as i64);
    let small = all_reduce(&world, 1, 10_000 / scale)?;
    let large = all_reduce(&world, 131_072, 200 / scale)?;
    if world.rank() == 0 {
        println!("rust,{get_rank:.1},{small:.2},{large:.1}");
    }
    world.destroy()
}
