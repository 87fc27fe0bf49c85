package tutti

import (
	"math"
	"time"
	"unsafe"

	"tutti/internal/raw"
)

// NoTimeout stands for a timeout that never passes, wherever a timeout is given; 0 is the default.
const NoTimeout time.Duration = -1

// milliseconds are C's: rounded up, and below 0 none at all.
func milliseconds(timeout time.Duration) int64 {
	if timeout < 0 {
		return raw.TUTTI_NO_TIMEOUT
	}
	whole := timeout / time.Millisecond
	if timeout%time.Millisecond > 0 {
		whole++
	}
	return int64(whole)
}

// duration is C's milliseconds.
func duration(limit int64) time.Duration {
	if limit < 0 {
		return NoTimeout
	}
	return time.Duration(min(limit, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
}

// millisecondsUntil is how long there is until a time, as a timeout.
func millisecondsUntil(deadline time.Time) int64 {
	return max(1, milliseconds(max(0, time.Until(deadline))))
}

// int64s copies lengths for C; nil for none.
func int64s(numbers []int) *int64 {
	if numbers == nil {
		return nil
	}
	copied := make([]int64, len(numbers))
	for i, number := range numbers {
		copied[i] = int64(number)
	}
	return unsafe.SliceData(copied)
}

// int32s copies ranks for C. What does not fit is as wrong there, and is refused.
func int32s(numbers []int) []int32 {
	copied := make([]int32, len(numbers))
	for i, number := range numbers {
		copied[i] = toInt32(number)
	}
	return copied
}

func ints[T int32 | int64](numbers []T) []int {
	copied := make([]int, len(numbers))
	for i, number := range numbers {
		copied[i] = int(number)
	}
	return copied
}

// toInt32 keeps wrong numbers wrong: those that do not fit become the nearest that does.
func toInt32(number int) int32 {
	const most = 1<<31 - 1
	return int32(min(max(number, -most-1), most))
}

func toInt(condition bool) int32 {
	if condition {
		return 1
	}
	return 0
}
