package tutti

import (
	"math"
	"reflect"
	"strconv"

	"tutti/internal/raw"
)

// Element is what a buffer can be a slice of: the numbers of every size, bool, and types made from
// them. int and uint go as 64 bits. A type that is made from [Float16] or [BFloat16] is, as Go sees
// it, one made from uint16, and goes as that.
type Element interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 |
		~float32 | ~float64 | ~complex64 | ~complex128 | ~bool
}

// Float16 is a number in IEEE 754's 16 bits.
type Float16 uint16

// BFloat16 is the upper half of a float32.
type BFloat16 uint16

// DType is the number by which C calls a type of elements.
type DType uint32

// The types of elements.
const (
	Int8DType       = DType(raw.TUTTI_INT8)
	Uint8DType      = DType(raw.TUTTI_UINT8)
	Int16DType      = DType(raw.TUTTI_INT16)
	Uint16DType     = DType(raw.TUTTI_UINT16)
	Int32DType      = DType(raw.TUTTI_INT32)
	Uint32DType     = DType(raw.TUTTI_UINT32)
	Int64DType      = DType(raw.TUTTI_INT64)
	Uint64DType     = DType(raw.TUTTI_UINT64)
	Float16DType    = DType(raw.TUTTI_FLOAT16)
	BFloat16DType   = DType(raw.TUTTI_BFLOAT16)
	Float32DType    = DType(raw.TUTTI_FLOAT32)
	Float64DType    = DType(raw.TUTTI_FLOAT64)
	Complex64DType  = DType(raw.TUTTI_COMPLEX64)
	Complex128DType = DType(raw.TUTTI_COMPLEX128)
	BoolDType       = DType(raw.TUTTI_BOOL)
)

var dtypeNames = map[DType]string{
	Int8DType: "int8", Uint8DType: "uint8", Int16DType: "int16", Uint16DType: "uint16",
	Int32DType: "int32", Uint32DType: "uint32", Int64DType: "int64", Uint64DType: "uint64",
	Float16DType: "float16", BFloat16DType: "bfloat16", Float32DType: "float32",
	Float64DType: "float64", Complex64DType: "complex64", Complex128DType: "complex128",
	BoolDType: "bool",
}

// String is the name of the type, for instance "float64".
func (d DType) String() string {
	if name, is := dtypeNames[d]; is {
		return name
	}
	return "DType(" + strconv.Itoa(int(d)) + ")"
}

// Size is the bytes of one element; 0 for a type that is none.
func (d DType) Size() int { return int(raw.Tutti_dtype_size(uint32(d))) }

var dtypeOfKind = map[reflect.Kind]DType{
	reflect.Int8: Int8DType, reflect.Uint8: Uint8DType, reflect.Int16: Int16DType,
	reflect.Uint16: Uint16DType, reflect.Int32: Int32DType, reflect.Uint32: Uint32DType,
	reflect.Int64: Int64DType, reflect.Uint64: Uint64DType, reflect.Float32: Float32DType,
	reflect.Float64: Float64DType, reflect.Complex64: Complex64DType,
	reflect.Complex128: Complex128DType, reflect.Bool: BoolDType,
	reflect.Int: intDType(Int32DType, Int64DType), reflect.Uint: intDType(Uint32DType, Uint64DType),
}

func intDType(of32, of64 DType) DType {
	if strconv.IntSize == 32 {
		return of32
	}
	return of64
}

// DTypeOf is the type of a slice's elements.
func DTypeOf[T Element]() DType {
	var zero T
	switch any(zero).(type) {
	case float64:
		return Float64DType
	case float32:
		return Float32DType
	case Float16:
		return Float16DType
	case BFloat16:
		return BFloat16DType
	}
	return dtypeOfKind[reflect.TypeOf(zero).Kind()]
}

// ToFloat16 rounds to the nearest number of 16 bits, of two equally near ones to the even one.
func ToFloat16(number float32) Float16 {
	bits := math.Float32bits(number)
	sign := Float16(bits >> 16 & 0x8000)
	magnitude := bits & 0x7fffffff
	switch {
	case magnitude > 0x7f800000:
		return sign | 0x7e00 // NaN
	case magnitude >= 0x47800000: // 65536
		return sign | 0x7c00
	case magnitude < 0x38800000: // below the normal numbers: a multiple of 2^-24
		return sign | Float16(math.RoundToEven(float64(math.Float32frombits(magnitude))*(1<<24)))
	}
	rounded := magnitude + 0xfff + magnitude>>13&1
	return sign | Float16((rounded-0x38000000)>>13)
}

// Float32 is the same number.
func (f Float16) Float32() float32 {
	sign := uint32(f) & 0x8000 << 16
	exponent, fraction := uint32(f)>>10&0x1f, uint32(f)&0x3ff
	switch exponent {
	case 0x1f:
		return math.Float32frombits(sign | 0x7f800000 | fraction<<13)
	case 0:
		magnitude := float32(fraction) / (1 << 24)
		return math.Float32frombits(sign | math.Float32bits(magnitude))
	}
	return math.Float32frombits(sign | (exponent+112)<<23 | fraction<<13)
}

// ToBFloat16 rounds to the nearest number of 16 bits, of two equally near ones to the even one.
func ToBFloat16(number float32) BFloat16 {
	bits := math.Float32bits(number)
	if number != number {
		return BFloat16(bits>>16 | 0x40)
	}
	return BFloat16((bits + 0x7fff + bits>>16&1) >> 16)
}

// Float32 is the same number.
func (f BFloat16) Float32() float32 { return math.Float32frombits(uint32(f) << 16) }
