//! A small neural network: 64 pixels, 64 hidden units (tanh), 10 classes (softmax).
use crate::images::{Image, PIXELS};

pub const CLASSES: usize = 10;
const HIDDEN: usize = 64;

/// For each layer: weights and bias of each unit, row after row, the bias last.
pub const WEIGHTS: [usize; 2] = [HIDDEN * (PIXELS + 1), CLASSES * (HIDDEN + 1)];

/// A generator of random numbers, the same on every machine: splitmix64, by Sebastiano Vigna.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for i in (2..=list.len()).rev() {
            list.swap(i - 1, (self.next() % i as u64) as usize);
        }
    }
}

pub struct Network {
    pub layers: [Vec<f64>; 2],
}

/// The values of an image that the backward pass needs.
pub struct Activations {
    hidden: [f64; HIDDEN],
    score_gradient: [f64; CLASSES],
}

/// outputs[j] = bias[j] + sum of weights[j][i] * inputs[i].
fn apply(weights: &[f64], inputs: &[f64], outputs: &mut [f64]) {
    for (row, output) in weights.chunks(inputs.len() + 1).zip(outputs) {
        *output = row[inputs.len()];
        row.iter().zip(inputs).for_each(|(weight, input)| *output += weight * input);
    }
}

/// Adds to a layer's gradient what the derivatives by its outputs give.
fn add_gradient(gradient: &mut [f64], inputs: &[f64], by_outputs: &[f64]) {
    for (row, by_output) in gradient.chunks_mut(inputs.len() + 1).zip(by_outputs) {
        row.iter_mut().zip(inputs).for_each(|(place, input)| *place += by_output * input);
        row[inputs.len()] += by_output;
    }
}

fn highest(scores: &[f64]) -> usize {
    (1..CLASSES).fold(0, |best, k| if scores[k] > scores[best] { k } else { best })
}

impl Network {
    pub fn zero() -> Network {
        Network { layers: WEIGHTS.map(|count| vec![0.0; count]) }
    }

    /// Random weights, small enough that no unit starts saturated.
    pub fn initialise(&mut self, random: &mut Random) {
        for weight in self.layers.iter_mut().flatten() {
            let uniform = (random.next() >> 11) as f64 / (1_u64 << 53) as f64;
            *weight = (2.0 * uniform - 1.0) / 8.0; // 8: the square root of a unit's inputs
        }
    }

    fn scores(&self, image: &Image) -> ([f64; HIDDEN], [f64; CLASSES]) {
        let (mut hidden, mut scores) = ([0.0; HIDDEN], [0.0; CLASSES]);
        apply(&self.layers[0], &image.pixels, &mut hidden);
        hidden.iter_mut().for_each(|unit| *unit = unit.tanh());
        apply(&self.layers[1], &hidden, &mut scores);
        (hidden, scores)
    }

    /// The loss (cross entropy) of an image.
    pub fn forward(&self, image: &Image) -> (f64, Activations) {
        let (hidden, scores) = self.scores(image);
        let top = scores[highest(&scores)]; // subtracted, so that exp does not overflow
        let total: f64 = scores.iter().map(|score| (score - top).exp()).sum();
        let mut score_gradient = scores.map(|score| (score - top).exp() / total);
        score_gradient[image.digit] -= 1.0;
        (total.ln() + top - scores[image.digit], Activations { hidden, score_gradient })
    }

    /// Adds the gradient of an image's loss by the weights of a layer.
    pub fn add_gradient(&self, layer: usize, image: &Image, of: &Activations, sums: &mut [f64]) {
        if layer == 1 {
            return add_gradient(sums, &of.hidden, &of.score_gradient);
        }
        let mut by_hidden = [0.0; HIDDEN];
        for (row, by_score) in self.layers[1].chunks(HIDDEN + 1).zip(&of.score_gradient) {
            by_hidden.iter_mut().zip(row).for_each(|(place, weight)| *place += by_score * weight);
        }
        for (place, unit) in by_hidden.iter_mut().zip(&of.hidden) {
            *place *= 1.0 - unit * unit;
        }
        add_gradient(sums, &image.pixels, &by_hidden);
    }

    /// The class that the network takes the image for.
    pub fn classify(&self, image: &Image) -> usize {
        highest(&self.scores(image).1)
    }
}
