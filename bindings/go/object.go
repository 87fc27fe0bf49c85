package tutti

import (
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"tutti/internal/raw"
)

// Object is a value in the form in which every language reads it. The calls that send values make
// Objects by themselves; one made before, by [NewObject], saves that where a value is sent often,
// and [Object.Lookup] reads parts of a large one. It never changes, so any number of goroutines may
// use it.
//
// These are the values, and what they become when they are read:
//
//	nil                                              nil
//	bool                                             bool
//	integers of any type                             int64; uint64 from 2^63 on
//	float32, float64                                 float64
//	string (UTF-8)                                   string
//	[]byte                                           []byte
//	time.Time                                        time.Time, in UTC
//	[]any, and slices that are not of numbers        []any
//	slices of numbers, bools, complex numbers        *Array of one dimension
//	*Array, Array                                    *Array
//	maps whose keys are strings                      map[string]any
//	maps whose keys are integers, or both in `any`   map[any]any
//	*Object                                          what is in it
//
// Types made from these are the same. Keys of a map[any]any are read as string, int64 or uint64.
type Object struct {
	number atomic.Uintptr
	memory sync.RWMutex // of C's, which is read: Close waits
}

func newObject(handle raw.Tutti_object) *Object {
	o := &Object{}
	o.number.Store(uintptr(handle))
	runtime.SetFinalizer(o, (*Object).Close)
	return o
}

// NewObject makes an object of a value; see [Object] for which. Everything is copied.
func NewObject(value any) (*Object, error) {
	handle, err := encode(value)
	if err != nil {
		return nil, err
	}
	return newObject(handle), nil
}

func (o *Object) handle() raw.Tutti_object {
	if o == nil {
		return 0
	}
	return raw.Tutti_object(o.number.Load())
}

// Close gives the object back. An Object that is not closed is when the garbage collector finds it.
func (o *Object) Close() error {
	if o != nil {
		runtime.SetFinalizer(o, nil)
		o.memory.Lock()
		defer o.memory.Unlock()
		raw.Tutti_object_release(raw.Tutti_object(o.number.Swap(0)))
	}
	return nil
}

// Value reads the whole object.
func (o *Object) Value() (any, error) { return o.Lookup() }

var errObjectClosed = &Error{
	Status: ErrInvalidHandle, Rank: -1, Message: "the object is nil or closed",
}

// Lookup reads one value of the object: where a path of keys of maps (strings, integers) and places
// in lists (integers) leads. [ErrInvalidArgument] if it leads nowhere.
func (o *Object) Lookup(path ...any) (any, error) {
	if o == nil {
		return nil, errObjectClosed
	}
	o.memory.RLock()
	defer o.memory.RUnlock()
	node := int64(0)
	for _, step := range path {
		next, err := o.step(node, step)
		if err != nil {
			return nil, err
		}
		node = next
	}
	return decodeNode(o.handle(), node)
}

// step goes from a map or list to what is in it.
func (o *Object) step(node int64, to any) (int64, error) {
	item := new(raw.Tutti_object_item)
	count := new(int64)
	found := new(int64)
	err := attempt(func(e *raw.Tutti_error) int32 {
		return raw.Tutti_object_read(o.handle(), node, item, 1, count, e)
	})
	if err != nil {
		return 0, err
	}
	switch {
	case item.Kind == raw.TUTTI_OBJECT_LIST:
		index, is := asInteger(to)
		if !is {
			return 0, invalid("the path leads to a list, where %#v is no place", to)
		}
		err = attempt(func(e *raw.Tutti_error) int32 {
			return raw.Tutti_object_at(o.handle(), node, index, found, e)
		})
	case item.Kind == raw.TUTTI_OBJECT_MAP:
		err = o.find(node, to, found)
	default:
		return 0, invalid("the path goes on with %#v where there is no list and no map", to)
	}
	if err == nil && *found < 0 {
		return 0, invalid("there is no key %#v", to)
	}
	return *found, err
}

func (o *Object) find(node int64, key any, found *int64) error {
	var pins runtime.Pinner
	defer pins.Unpin()
	item := new(raw.Tutti_object_item)
	if err := describeKey(item, key, &pins); err != nil {
		return err
	}
	return attempt(func(e *raw.Tutti_error) int32 {
		return raw.Tutti_object_find_item(o.handle(), node, item, found, e)
	})
}

// Equal tells whether two objects are the same: integers by value, floating-point numbers by their
// bits, maps whatever the order of their keys. An integer never equals a floating-point number.
func (o *Object) Equal(other *Object) (bool, error) {
	return askBool(func(equal *int32, e *raw.Tutti_error) int32 {
		return raw.Tutti_object_equal(o.handle(), 0, other.handle(), 0, equal, e)
	})
}

// Copy makes another object with the same value.
func (o *Object) Copy() (*Object, error) {
	handle, err := ask(func(handle *raw.Tutti_object, e *raw.Tutti_error) int32 {
		return raw.Tutti_object_copy(o.handle(), 0, handle, e)
	})
	if err != nil {
		return nil, err
	}
	return newObject(handle), nil
}

// JSON writes the object as JSON for people; what JSON does not have becomes a string. indent is
// the spaces for each level, 0 for one line; limit about how many bytes, from which on "..." stands
// for the rest, 0 for all of it.
func (o *Object) JSON(indent, limit int) (string, error) {
	if limit < 0 {
		return "", invalid("limit is %d", limit)
	}
	text, err := askBytes(func(text *raw.Tutti_bytes, e *raw.Tutti_error) int32 {
		return raw.Tutti_object_to_json(o.handle(), 0, toInt32(indent), int64(limit), text, e)
	})
	return string(text), err
}

// ObjectOptions are how a value becomes a message, and the limits within which a message becomes a
// value; zero is every field's default, and so is a nil pointer. Environment variables of the same
// meaning are taken where a field is 0.
type ObjectOptions struct {
	MaxBytes             int64 // of a message; 0: 4 GiB
	MaxDecompressedBytes int64 // 0: 1 GiB
	MaxValues            int64 // 0: 2^26
	MaxDepth             int   // lists and maps inside each other; 0: 512
	CompressionLevel     int   // zstd's, -7 to 19; 0: 1, and less between ranks of one host
	CompressionThreshold int64 // bytes from which on compressing is tried; 0: 4096
	Compress             Compression
}

// Compression is when a message is compressed.
type Compression uint32

// When a message is compressed.
const (
	CompressDefault  = Compression(raw.TUTTI_OBJECT_COMPRESS_DEFAULT) // between ranks: if it pays
	CompressNever    = Compression(raw.TUTTI_OBJECT_COMPRESS_NEVER)
	CompressIfItPays = Compression(raw.TUTTI_OBJECT_COMPRESS_IF_IT_PAYS)
)

func (o *ObjectOptions) forC() *raw.Tutti_object_options {
	if o == nil {
		return nil
	}
	made := &raw.Tutti_object_options{
		Max_bytes:              o.MaxBytes,
		Max_decompressed_bytes: o.MaxDecompressedBytes,
		Max_values:             o.MaxValues,
		Max_depth:              toInt32(o.MaxDepth),
		Compression_level:      toInt32(o.CompressionLevel),
		Compression_threshold:  o.CompressionThreshold,
		Compress:               uint32(o.Compress),
	}
	made.Struct_size = uint32(unsafe.Sizeof(*made))
	return made
}

// maxBytes is the limit that calls of plain bytes know.
func (o *ObjectOptions) maxBytes() int64 {
	if o == nil {
		return 0
	}
	return o.MaxBytes
}

// Encode writes the object as MessagePack.
func (o *Object) Encode(options *ObjectOptions) ([]byte, error) {
	return askBytes(func(bytes *raw.Tutti_bytes, e *raw.Tutti_error) int32 {
		return raw.Tutti_object_encode(o.handle(), options.forC(), bytes, e)
	})
}

// DecodeObject reads an object from MessagePack, compressed or not. Any bytes may come: what is no
// value is an error.
func DecodeObject(data []byte, options *ObjectOptions) (*Object, error) {
	handle, err := ask(func(handle *raw.Tutti_object, e *raw.Tutti_error) int32 {
		return raw.Tutti_object_decode(unsafe.Pointer(bytesPointer(data)), uint64(len(data)),
			options.forC(), handle, e)
	})
	if err != nil {
		return nil, err
	}
	return newObject(handle), nil
}
