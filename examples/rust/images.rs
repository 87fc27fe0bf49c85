//! Reading the images of handwritten digits.
use std::fs;

pub const PIXELS: usize = 64;

/// One image: its pixels, from 0 to 16, and the digit that it shows.
pub struct Image {
    pub pixels: [f64; PIXELS],
    pub digit: usize,
}

/// All images of a file, one a line: 64 pixels and the digit, with commas between.
pub fn read(path: &str) -> Result<Vec<Image>, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let lines = text.lines().enumerate();
    lines
        .map(|(number, line)| {
            image(line).ok_or_else(|| format!("{path}: line {} is not an image", number + 1))
        })
        .collect()
}

fn image(line: &str) -> Option<Image> {
    let numbers: Vec<usize> =
        line.split(',').map(|number| number.trim().parse().ok()).collect::<Option<_>>()?;
    let (&digit, pixels) = numbers.split_last()?;
    if pixels.len() != PIXELS || digit > 9 || pixels.iter().any(|&pixel| pixel > 16) {
        return None;
    }
    let mut image = Image { pixels: [0.0; PIXELS], digit };
    for (place, &pixel) in image.pixels.iter_mut().zip(pixels) {
        *place = pixel as f64;
    }
    Some(image)
}
