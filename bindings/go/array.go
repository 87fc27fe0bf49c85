package tutti

import (
	"fmt"
	"reflect"
	"runtime"
	"unsafe"

	"tutti/internal/raw"
)

// Array is an n-dimensional array, a value of an object: elements row after row, the last index
// moves fastest. Data is a slice of elements ([]float64, []int32, ...) with as many as the lengths
// in Shape multiplied; without a length there is one element.
type Array struct {
	Data  any
	Shape []int
}

// NewArray makes an array of a slice, in one dimension if no shape is given.
func NewArray[T Element](data []T, shape ...int) *Array {
	if len(shape) == 0 {
		shape = []int{len(data)}
	}
	return &Array{Data: data, Shape: shape}
}

// String shows the elements, and of which type and shape they are.
func (a *Array) String() string {
	if a == nil {
		return "<nil>"
	}
	return fmt.Sprintf("%T of shape %v: %v", a.Data, a.Shape, a.Data)
}

// ArrayData is the elements of a value that was read and is an array of this type; false if it is
// something else.
func ArrayData[T Element](value any) ([]T, bool) {
	array, is := value.(*Array)
	if !is || array == nil {
		return nil, false
	}
	data, is := array.Data.([]T)
	return data, is
}

var (
	float16Type  = reflect.TypeOf(Float16(0))
	bfloat16Type = reflect.TypeOf(BFloat16(0))
)

// dtypeOfSlice is the type of a slice's elements; false if they are none of an array.
func dtypeOfSlice(slice reflect.Type) (DType, bool) {
	switch slice.Elem() {
	case float16Type:
		return Float16DType, true
	case bfloat16Type:
		return BFloat16DType, true
	}
	dtype, is := dtypeOfKind[slice.Elem().Kind()]
	return dtype, is
}

// describeArray describes an array to C, and pins its memory.
func (b *builder) describeArray(array *Array, item *raw.Tutti_object_item) error {
	data := reflect.ValueOf(array.Data)
	if array.Data == nil || data.Kind() != reflect.Slice {
		return invalid("the Data of an Array is a %T, not a slice", array.Data)
	}
	dtype, is := dtypeOfSlice(data.Type())
	if !is {
		return invalid("the Data of an Array is a %T, whose elements are no numbers", array.Data)
	}
	elements := 1
	shape := make([]int64, len(array.Shape))
	for i, length := range array.Shape {
		if length < 0 || length > 0 && elements > (1<<62)/length {
			return invalid("the Shape of an Array is %v", array.Shape)
		}
		shape[i] = int64(length)
		elements *= length
	}
	if elements != data.Len() {
		return invalid("an Array of shape %v has %d elements", array.Shape, data.Len())
	}
	*item = raw.Tutti_object_item{
		Kind: raw.TUTTI_OBJECT_ARRAY, Dtype: uint32(dtype), Size: int64(elements),
		Dimensions: toInt32(len(shape)),
	}
	if len(shape) > 0 {
		item.Shape = b.keep(unsafe.Pointer(unsafe.SliceData(shape)))
	}
	if elements > 0 {
		item.Data = b.keep(data.UnsafePointer())
	}
	return nil
}

// arrayOf copies an array that C has.
func arrayOf(item *raw.Tutti_object_item) *Array {
	array := &Array{Data: arrayData(item)}
	if item.Dimensions > 0 {
		for _, length := range unsafe.Slice((*int64)(pointer(item.Shape)), item.Dimensions) {
			array.Shape = append(array.Shape, int(length))
		}
	}
	return array
}

func arrayData(item *raw.Tutti_object_item) any {
	switch DType(item.Dtype) {
	case Int8DType:
		return elements[int8](item)
	case Uint8DType:
		return elements[uint8](item)
	case Int16DType:
		return elements[int16](item)
	case Uint16DType:
		return elements[uint16](item)
	case Int32DType:
		return elements[int32](item)
	case Uint32DType:
		return elements[uint32](item)
	case Int64DType:
		return elements[int64](item)
	case Uint64DType:
		return elements[uint64](item)
	case Float16DType:
		return elements[Float16](item)
	case BFloat16DType:
		return elements[BFloat16](item)
	case Float32DType:
		return elements[float32](item)
	case Float64DType:
		return elements[float64](item)
	case Complex64DType:
		return elements[complex64](item)
	case Complex128DType:
		return elements[complex128](item)
	}
	return bools(elements[uint8](item))
}

func elements[T Element](item *raw.Tutti_object_item) []T {
	copied := make([]T, item.Size)
	if item.Size > 0 {
		size := int64(unsafe.Sizeof(copied[0])) * item.Size
		from := unsafe.Slice((*byte)(pointer(item.Data)), size)
		copy(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(copied))), size), from)
	}
	runtime.KeepAlive(copied)
	return copied
}

// bools are bytes of which every value but 0 is true.
func bools(bytes []uint8) []bool {
	made := make([]bool, len(bytes))
	for i, one := range bytes {
		made[i] = one != 0
	}
	return made
}

// pointer is memory of C by its address.
func pointer(address uintptr) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(&address))
}
