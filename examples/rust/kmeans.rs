//! k-means: images of handwritten digits fall into ten clusters, and nobody says which digit is
//! which. Every rank has a part of the images; what travels is the clusters. Start it with
//!     tuttirun --nproc-per-node 4 rust_kmeans [FILE]
//! The result is the same for every number of ranks: pixels are whole numbers, so their sums are
//! exact.
mod images;

use images::{Image, PIXELS};
use std::error::Error;
use tutti::{init_process_group, scope, Group, Init, ReduceOp};

const CLUSTERS: usize = 10;
const MOST_STEPS: usize = 100;

/// The centres, one after the other.
type Centres = [f64; CLUSTERS * PIXELS];

/// The sums of a step: the pixels of each cluster's images, how many these are, and how many
/// images have moved to another cluster.
struct Sums {
    pixels: Centres,
    images: [i64; CLUSTERS],
    moved: [i64; 1],
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

fn nearest(image: &Image, centres: &Centres) -> usize {
    let distances = centres.chunks(PIXELS).map(|centre| distance(&image.pixels, centre));
    let numbered = distances.enumerate();
    numbered.min_by(|a, b| a.1.total_cmp(&b.1)).map_or(0, |(cluster, _)| cluster)
}

/// Puts each image of this rank into its nearest cluster, and adds up.
fn assign(images: &[Image], centres: &Centres, clusters: &mut [usize]) -> Sums {
    let mut sums = Sums { pixels: [0.0; CLUSTERS * PIXELS], images: [0; CLUSTERS], moved: [0] };
    for (image, own) in images.iter().zip(clusters) {
        let cluster = nearest(image, centres);
        sums.moved[0] += i64::from(*own != cluster);
        *own = cluster;
        sums.images[cluster] += 1;
        let place = &mut sums.pixels[cluster * PIXELS..][..PIXELS];
        place.iter_mut().zip(&image.pixels).for_each(|(sum, pixel)| *sum += pixel);
    }
    sums
}

/// Adds up what all ranks have: three operations that travel together.
fn add_up(world: &Group, sums: &mut Sums) -> tutti::Result<()> {
    scope(|scope| {
        let start = scope.start(world);
        let pixels = start.all_reduce(&mut sums.pixels, ReduceOp::SUM)?;
        let images = start.all_reduce(&mut sums.images, ReduceOp::SUM)?;
        start.all_reduce(&mut sums.moved, ReduceOp::SUM)?.wait()?;
        images.wait()?;
        pixels.wait()?;
        Ok(())
    })
}

/// The middle of each cluster's images; a cluster without any stays where it is.
fn move_centres(centres: &mut Centres, sums: &Sums) {
    for (cluster, &count) in sums.images.iter().enumerate() {
        if count > 0 {
            for place in cluster * PIXELS..(cluster + 1) * PIXELS {
                centres[place] = sums.pixels[place] / count as f64;
            }
        }
    }
}

/// Rank 0 takes images that lie evenly in the file as the first centres, for all.
fn first_centres(world: &Group, all: &[Image]) -> tutti::Result<Centres> {
    let mut centres = [0.0; CLUSTERS * PIXELS];
    if world.rank() == 0 {
        for (cluster, centre) in centres.chunks_mut(PIXELS).enumerate() {
            centre.copy_from_slice(&all[cluster * all.len() / CLUSTERS].pixels);
        }
    }
    world.broadcast(&mut centres, 0)?;
    Ok(centres)
}

/// How many images are of the digit that most of their cluster are.
fn count_pure(world: &Group, images: &[Image], clusters: &[usize]) -> tutti::Result<i64> {
    let mut counts = [0_i64; CLUSTERS * 10];
    for (image, cluster) in images.iter().zip(clusters) {
        counts[cluster * 10 + image.digit] += 1;
    }
    world.all_reduce(&mut counts, ReduceOp::SUM)?;
    Ok(counts.chunks(10).filter_map(|digits| digits.iter().max()).sum())
}

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1);
    let all = images::read(file.as_deref().unwrap_or("examples/data/digits.csv"))?;
    let total = all.len();
    if total < CLUSTERS {
        return Err(format!("{total} images are too few for {CLUSTERS} clusters").into());
    }
    let world = init_process_group(&Init::default())?;
    let (rank, size) = (world.rank(), world.world_size());
    let mut centres = first_centres(&world, &all)?;
    let own: Vec<Image> = all.into_iter().skip(rank).step_by(size).collect();

    let mut clusters = vec![CLUSTERS; own.len()];
    let mut steps = 0;
    loop {
        let mut sums = assign(&own, &centres, &mut clusters);
        add_up(&world, &mut sums)?;
        steps += 1;
        if rank == 0 {
            println!("step {steps}: {} images moved", sums.moved[0]);
        }
        if sums.moved[0] == 0 || steps == MOST_STEPS {
            break;
        }
        move_centres(&mut centres, &sums);
    }
    let pure = count_pure(&world, &own, &clusters)?;
    let percent = 100.0 * pure as f64 / total as f64;
    println!("rank {rank} of {size}: {steps} steps, {percent:.1} % of {total} images are pure");
    world.destroy()?;
    Ok(())
}
