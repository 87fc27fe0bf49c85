package main

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"strconv"
)

const (
	pixels      = 64
	classes     = 10
	inputs      = pixels + 1 // and one that is always 1
	weightCount = classes * inputs
)

// digit is an image and what it shows.
type digit struct {
	image [inputs]float64
	label int
}

func readDigits(path string) ([]digit, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		return nil, err
	}
	digits := make([]digit, len(rows))
	for i, row := range rows {
		if err := digits[i].read(row); err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", path, i+1, err)
		}
	}
	return digits, nil
}

func (d *digit) read(row []string) error {
	if len(row) != pixels+1 {
		return fmt.Errorf("%d numbers, not %d", len(row), pixels+1)
	}
	for i, text := range row[:pixels] {
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return err
		}
		d.image[i] = value / 16
	}
	d.image[pixels] = 1
	label, err := strconv.Atoi(row[pixels])
	if err == nil && (label < 0 || label >= classes) {
		err = fmt.Errorf("there is no digit %d", label)
	}
	d.label = label
	return err
}

// probabilities is how likely the model takes each class to be.
func probabilities(weights []float64, image *[inputs]float64) [classes]float64 {
	var scores [classes]float64
	sum := 0.0
	for class := range scores {
		score := 0.0
		for i, value := range image {
			score += weights[class*inputs+i] * value
		}
		scores[class] = math.Exp(score)
		sum += scores[class]
	}
	for class := range scores {
		scores[class] /= sum
	}
	return scores
}

// gradient is the slope of the loss, summed over a batch.
func gradient(weights []float64, batch []digit) []float64 {
	slopes := make([]float64, weightCount)
	for i := range batch {
		one := &batch[i]
		for class, likely := range probabilities(weights, &one.image) {
			if class == one.label {
				likely--
			}
			for j, value := range one.image {
				slopes[class*inputs+j] += likely * value
			}
		}
	}
	return slopes
}

// accuracy is the part of the digits that the model tells right.
func accuracy(weights []float64, digits []digit) float64 {
	right := 0
	for i := range digits {
		best, scores := 0, probabilities(weights, &digits[i].image)
		for class, score := range scores {
			if score > scores[best] {
				best = class
			}
		}
		if best == digits[i].label {
			right++
		}
	}
	return float64(right) / float64(len(digits))
}
