package tutti

import (
	"time"
	"unsafe"

	"tutti/internal/raw"
)

// A reader turns the values of an object, in their order, into values of Go, and fetches many with
// one call of C.
type reader struct {
	object raw.Tutti_object
	items  []raw.Tutti_object_item // fetched, and not yet read
	room   []raw.Tutti_object_item
	next   int64 // the node behind what was fetched
}

// decodeNode reads one value of an object with all it contains.
func decodeNode(object raw.Tutti_object, node int64) (any, error) {
	r := &reader{object: object, room: make([]raw.Tutti_object_item, itemsAtOnce), next: node}
	return r.value()
}

// decode reads an object that C gave, and gives it back.
func decode(object raw.Tutti_object) (any, error) {
	defer raw.Tutti_object_release(object)
	return decodeNode(object, 0)
}

// fetch is the next item.
func (r *reader) fetch() (*raw.Tutti_object_item, error) {
	if len(r.items) == 0 {
		count := new(int64)
		err := attempt(func(e *raw.Tutti_error) int32 {
			return raw.Tutti_object_read(r.object, r.next, unsafe.SliceData(r.room),
				int64(len(r.room)), count, e)
		})
		if err != nil {
			return nil, err
		}
		if *count == 0 {
			return nil, &Error{Status: ErrInternal, Rank: -1, Message: "an object ends too early"}
		}
		r.items = r.room[:*count]
		r.next += *count
	}
	item := &r.items[0]
	r.items = r.items[1:]
	return item, nil
}

func (r *reader) value() (any, error) {
	item, err := r.fetch()
	if err != nil {
		return nil, err
	}
	switch item.Kind {
	case raw.TUTTI_OBJECT_NIL:
		return nil, nil
	case raw.TUTTI_OBJECT_BOOL:
		return item.Integer != 0, nil
	case raw.TUTTI_OBJECT_INT64:
		return item.Integer, nil
	case raw.TUTTI_OBJECT_UINT64:
		return uint64(item.Integer), nil
	case raw.TUTTI_OBJECT_FLOAT64:
		return item.Real, nil
	case raw.TUTTI_OBJECT_STRING:
		return string(memory(item)), nil
	case raw.TUTTI_OBJECT_BYTES:
		return append(make([]byte, 0, item.Size), memory(item)...), nil
	case raw.TUTTI_OBJECT_LIST:
		return r.list(item.Size)
	case raw.TUTTI_OBJECT_MAP:
		return r.mapping(item.Size)
	case raw.TUTTI_OBJECT_TIMESTAMP:
		return time.Unix(item.Integer, int64(item.Nanoseconds)).UTC(), nil
	case raw.TUTTI_OBJECT_ARRAY:
		return arrayOf(item), nil
	}
	return nil, &Error{Status: ErrUnsupported, Rank: -1, Message: "an object has a value of a kind " +
		"that this version of the binding does not know"}
}

// memory is a string's or byte string's own, in C.
func memory(item *raw.Tutti_object_item) []byte {
	if item.Size == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(pointer(item.Data)), item.Size)
}

func (r *reader) list(size int64) (any, error) {
	list := make([]any, size)
	for i := range list {
		value, err := r.value()
		if err != nil {
			return nil, err
		}
		list[i] = value
	}
	return list, nil
}

// mapping is a map[string]any, unless a key is a number.
func (r *reader) mapping(size int64) (any, error) {
	named := make(map[string]any, size)
	var mixed map[any]any
	for i := int64(0); i < size; i++ {
		key, err := r.value()
		if err != nil {
			return nil, err
		}
		value, err := r.value()
		if err != nil {
			return nil, err
		}
		name, is := key.(string)
		if !is && mixed == nil {
			mixed = make(map[any]any, size)
			for before, value := range named {
				mixed[before] = value
			}
		}
		if mixed != nil {
			mixed[key] = value
		} else {
			named[name] = value
		}
	}
	if mixed != nil {
		return mixed, nil
	}
	return named, nil
}
