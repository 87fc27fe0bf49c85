//! Data-parallel training: the ranks share the images of every batch, and a reducer adds up their
//! gradients, those of the last layer while the first one's are computed. All ranks then take the
//! same step, so their weights stay the same without being sent. Start it with
//!     tuttirun --nproc-per-node 4 rust_train_digits [FILE]
mod images;
mod network;

use images::Image;
use network::{Activations, Network, Random, WEIGHTS};
use std::error::Error;
use std::ops::Range;
use tutti::{init_process_group, Group, Init, Parameter, ReduceOp, Reducer, ReducerOptions};

const EPOCHS: usize = 20;
const BATCH: usize = 64;
const LEARNING_RATE: f64 = 0.1;
const MOMENTUM: f64 = 0.9;
const SEED: u64 = 1998;

struct Training {
    world: Group,
    network: Network,
    velocity: Network,
    reducer: Reducer,
}

/// This rank's part of so many images.
fn share(world: &Group, count: usize) -> Range<usize> {
    let begin = |rank| count * rank / world.world_size();
    begin(world.rank())..begin(world.rank() + 1)
}

fn sum_over_ranks(world: &Group, value: f64) -> tutti::Result<f64> {
    let mut sum = [value];
    world.all_reduce(&mut sum, ReduceOp::SUM)?;
    Ok(sum[0])
}

impl Training {
    /// All ranks begin with the weights of rank 0.
    fn new(world: Group) -> tutti::Result<Training> {
        let mut network = Network::zero();
        if world.rank() == 0 {
            network.initialise(&mut Random(SEED));
        }
        let [first, second] = &mut network.layers;
        let layers = [Parameter::new("first layer", first), Parameter::new("second layer", second)];
        let options = ReducerOptions {
            sum: true, // the ranks' parts of a batch differ in size
            first_bucket_cap_bytes: WEIGHTS[1] * std::mem::size_of::<f64>(),
            ..Default::default()
        };
        let reducer = Reducer::new(&world, &layers, &options)?;
        Ok(Training { world, network, velocity: Network::zero(), reducer })
    }

    /// The gradients of this rank's images, layer by layer.
    fn backward(&mut self, images: &[Image], of: &[Activations]) -> tutti::Result<()> {
        let network = &self.network;
        self.reducer.backward(true, |pass| {
            for layer in [1, 0] {
                let mut gradient = pass.gradient(layer)?;
                gradient.fill(0.0);
                for (image, of) in images.iter().zip(of) {
                    network.add_gradient(layer, image, of, &mut gradient);
                }
                gradient.ready()?;
            }
            Ok(())
        })
    }

    /// One step on one batch; the loss of this rank's images, summed.
    fn train_batch(&mut self, batch: &[Image]) -> tutti::Result<f64> {
        let images = &batch[share(&self.world, batch.len())];
        let (losses, activations): (Vec<f64>, Vec<Activations>) =
            images.iter().map(|image| self.network.forward(image)).unzip();
        self.backward(images, &activations)?;
        let layers = self.network.layers.iter_mut().zip(&mut self.velocity.layers);
        for (layer, (weights, velocity)) in layers.enumerate() {
            let sums = self.reducer.gradient::<f64>(layer)?;
            for ((weight, speed), sum) in weights.iter_mut().zip(velocity).zip(sums) {
                *speed = MOMENTUM * *speed - LEARNING_RATE * sum / batch.len() as f64;
                *weight += *speed;
            }
        }
        Ok(losses.iter().sum())
    }

    /// One pass over the images, in a new order; the mean loss.
    fn train_epoch(&mut self, images: &mut [Image], random: &mut Random) -> tutti::Result<f64> {
        random.shuffle(images);
        let mut loss = 0.0;
        for batch in images.chunks(BATCH) {
            loss += self.train_batch(batch)?;
        }
        Ok(sum_over_ranks(&self.world, loss)? / images.len() as f64)
    }

    /// How many per cent of the images the network gets right.
    fn accuracy(&self, images: &[Image]) -> tutti::Result<f64> {
        let own = &images[share(&self.world, images.len())];
        let right = own.iter().filter(|image| self.network.classify(image) == image.digit).count();
        Ok(100.0 * sum_over_ranks(&self.world, right as f64)? / images.len() as f64)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1);
    let mut images = images::read(file.as_deref().unwrap_or("examples/data/digits.csv"))?;
    images.iter_mut().flat_map(|image| &mut image.pixels).for_each(|pixel| *pixel /= 16.0);
    let mut random = Random(SEED);
    random.shuffle(&mut images);
    let training_count = images.len() * 4 / 5;
    let (for_training, for_testing) = images.split_at_mut(training_count);

    let world = init_process_group(&Init::default())?;
    let speaks = world.rank() == 0;
    let mut training = Training::new(world.clone())?;
    let mut accuracy = 0.0;
    for epoch in 1..=EPOCHS {
        let loss = training.train_epoch(for_training, &mut random)?;
        accuracy = training.accuracy(for_testing)?;
        if speaks {
            println!("epoch {epoch:2}: loss {loss:.6}, test accuracy {accuracy:.2} %");
        }
    }
    if speaks {
        println!("test accuracy: {accuracy:.2} %");
    }
    drop(training);
    world.destroy()?;
    Ok(())
}
