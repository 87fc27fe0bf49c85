//! Every rank gives one number, every rank gets the sum. Start it with
//!     tuttirun --nproc-per-node 4 rust_all_reduce
use tutti::{init_process_group, Init, ReduceOp};

fn main() -> tutti::Result<()> {
    let world = init_process_group(&Init::default())?;
    let mut sum = [world.rank() as f64 + 1.0];
    world.all_reduce(&mut sum, ReduceOp::SUM)?;
    println!("rank {} of {}: sum = {}", world.rank(), world.world_size(), sum[0]);
    world.destroy()
}
