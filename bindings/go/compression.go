package tutti

import (
	"strings"
	"unsafe"

	"tutti/internal/raw"
)

// GradientCompression is how gradients travel.
type GradientCompression uint32

// The ways.
const (
	AsTheyAre    = GradientCompression(raw.TUTTI_COMPRESSION_NONE)
	AsFloat16    = GradientCompression(raw.TUTTI_COMPRESSION_FLOAT16)
	AsBFloat16   = GradientCompression(raw.TUTTI_COMPRESSION_BFLOAT16)
	AsQuantised8 = GradientCompression(raw.TUTTI_COMPRESSION_QUANTISED)
)

// SetCompression chooses how gradients travel; every rank calls it between the same passes. It
// replaces a hook and [Reducer.SetPowerSGD].
func (r *Reducer) SetCompression(compression GradientCompression) error {
	return r.attempt(func(h raw.Tutti_reducer, e *raw.Tutti_error) int32 {
		return raw.Tutti_reducer_set_compression(h, uint32(compression), e)
	})
}

// PowerSGDOptions are the options of [Reducer.SetPowerSGD], the same on all ranks; zero is every
// field's default, and so is a nil pointer.
type PowerSGDOptions struct {
	NoErrorFeedback          bool    // what a pass leaves out is lost, not added to the next one
	NoWarmStart              bool    // each pass begins anew, not with the directions before
	MatrixApproximationRank  int     // columns of each factor; 0: 1
	StartIteration           int     // synchronised passes before the first compressed one; 0: 1000
	MinCompressionRate       float64 // of a matrix to its factors, to be compressed; 0: 2
	OrthogonalizationEpsilon float64 // added to norms before a division; 0 is safe, too
	RandomSeed               int64   // of the random directions
}

func (o *PowerSGDOptions) forC() *raw.Tutti_power_sgd_options {
	if o == nil {
		return nil
	}
	made := &raw.Tutti_power_sgd_options{
		No_error_feedback:         uint32(toInt(o.NoErrorFeedback)),
		No_warm_start:             uint32(toInt(o.NoWarmStart)),
		Matrix_approximation_rank: int64(o.MatrixApproximationRank),
		Start_iteration:           int64(o.StartIteration),
		Min_compression_rate:      o.MinCompressionRate,
		Orthogonalization_epsilon: o.OrthogonalizationEpsilon,
		Random_seed:               o.RandomSeed,
	}
	made.Struct_size = uint32(unsafe.Sizeof(*made))
	return made
}

// SetPowerSGD has gradients travel as products of two matrices with few columns (PowerSGD): those
// of float32 and float64 that are matrices, if that takes fewer bytes. What a pass leaves out comes
// with a later one. rows has a number for each parameter: of a matrix whose elements lie row after
// row, as those of an [Array] do, its rows, which is its first dimension; 0 for what is no matrix.
// Every rank calls it between the same passes, with the same arguments. It replaces a hook and the
// compression. Where a rank's arguments are refused, the others get [ErrMismatch], and the reducer
// stays as it was.
func (r *Reducer) SetPowerSGD(rows []int, options *PowerSGDOptions) error {
	err := r.attempt(func(h raw.Tutti_reducer, e *raw.Tutti_error) int32 {
		return raw.Tutti_reducer_set_power_sgd(h, int64s(rows), int64(len(rows)), options.forC(), e)
	})
	if failure, is := err.(*Error); is && failure.Status == ErrInvalidArgument {
		failure.Message = strings.Replace(failure.Message, "count is", "len(rows) is", 1)
	}
	return err
}
