package main

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
)

const (
	pixels  = 64
	hidden  = 64
	classes = 10
)

// digit is an image, its pixels from 0 to 1, and what it shows.
type digit struct {
	image [pixels]float64
	label int
}

func readDigits(path string) ([]digit, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var digits []digit
	for lines := bufio.NewScanner(file); lines.Scan(); {
		numbers := strings.Split(lines.Text(), ",")
		if len(numbers) != pixels+1 {
			return nil, fmt.Errorf("%s: line %d is not an image", path, len(digits)+1)
		}
		var one digit
		for i, text := range numbers {
			number, err := strconv.Atoi(text)
			if err != nil {
				return nil, fmt.Errorf("%s: line %d: %w", path, len(digits)+1, err)
			}
			if i < pixels {
				one.image[i] = float64(number) / 16
			} else {
				one.label = number
			}
		}
		digits = append(digits, one)
	}
	return digits, nil
}

// random is a generator of numbers, the same on every machine: splitmix64, by Sebastiano Vigna.
type random uint64

func (r *random) next() uint64 {
	*r += 0x9e3779b97f4a7c15
	z := uint64(*r)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func (r *random) shuffle(digits []digit) {
	for i := len(digits); i > 1; i-- {
		other := r.next() % uint64(i)
		digits[i-1], digits[other] = digits[other], digits[i-1]
	}
}

// network has weights and bias of each unit of both layers, row after row, the bias last.
type network [2][]float64

func newNetwork() network {
	return network{make([]float64, hidden*(pixels+1)), make([]float64, classes*(hidden+1))}
}

// initialise gives random weights, small enough that no unit starts saturated.
func (n network) initialise(r random) {
	for _, layer := range n {
		for i := range layer {
			uniform := float64(r.next()>>11) / (1 << 53)
			layer[i] = (2*uniform - 1) / 8 // 8: the square root of a unit's inputs
		}
	}
}

// activations are what the backward pass needs of an image.
type activations struct {
	hidden        [hidden]float64
	scoreGradient [classes]float64
}

// apply gives outputs[j] = bias[j] + the sum of layer[j][i] * inputs[i].
func apply(layer, inputs, outputs []float64) {
	for j := range outputs {
		row := layer[j*(len(inputs)+1):][:len(inputs)+1]
		outputs[j] = row[len(inputs)]
		for i, input := range inputs {
			outputs[j] += row[i] * input
		}
	}
}

// add adds to a layer's gradient what the derivatives by its outputs give.
func add(gradient, inputs, byOutputs []float64) {
	for j, byOutput := range byOutputs {
		row := gradient[j*(len(inputs)+1):][:len(inputs)+1]
		for i, input := range inputs {
			row[i] += byOutput * input
		}
		row[len(inputs)] += byOutput
	}
}

func highest(scores []float64) int {
	best := 0
	for k, score := range scores {
		if score > scores[best] {
			best = k
		}
	}
	return best
}

func (n network) scores(one *digit) (units [hidden]float64, scores [classes]float64) {
	apply(n[0], one.image[:], units[:])
	for j := range units {
		units[j] = math.Tanh(units[j])
	}
	apply(n[1], units[:], scores[:])
	return units, scores
}

// forward gives the loss (cross entropy) of an image.
func (n network) forward(one *digit) (loss float64, of activations) {
	units, scores := n.scores(one)
	of.hidden = units
	top := scores[highest(scores[:])] // subtracted, so that exp does not overflow
	total := 0.0
	for _, score := range scores {
		total += math.Exp(score - top)
	}
	for k, score := range scores {
		of.scoreGradient[k] = math.Exp(score-top) / total
	}
	of.scoreGradient[one.label]--
	return math.Log(total) + top - scores[one.label], of
}

// addGradient adds the gradient of an image's loss by the weights of a layer.
func (n network) addGradient(layer int, one *digit, of *activations, gradient []float64) {
	if layer == 1 {
		add(gradient, of.hidden[:], of.scoreGradient[:])
		return
	}
	var byHidden [hidden]float64
	for j, unit := range of.hidden {
		for k, byScore := range of.scoreGradient {
			byHidden[j] += byScore * n[1][k*(hidden+1)+j]
		}
		byHidden[j] *= 1 - unit*unit
	}
	add(gradient, one.image[:], byHidden[:])
}

func (n network) classify(one *digit) int {
	_, scores := n.scores(one)
	return highest(scores[:])
}
