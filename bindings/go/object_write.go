package tutti

import (
	"cmp"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"time"
	"unsafe"

	"tutti/internal/raw"
)

// A builder writes values of Go into an object, many with one call of C.
type builder struct {
	object raw.Tutti_object
	items  []raw.Tutti_object_item
	pins   runtime.Pinner
	depth  int
}

const (
	itemsAtOnce = 512
	// A value that contains itself would be endless; C's own limit is of messages.
	deepest = 10000
)

// encode makes an object of a value.
func encode(value any) (raw.Tutti_object, error) {
	handle, err := ask(raw.Tutti_object_create)
	if err != nil {
		return 0, err
	}
	b := &builder{object: handle}
	err = b.add(value)
	if err == nil {
		err = b.flush()
	}
	b.pins.Unpin()
	if err != nil {
		raw.Tutti_object_release(handle)
		return 0, err
	}
	return handle, nil
}

// flush has C copy what was collected.
func (b *builder) flush() error {
	if len(b.items) == 0 {
		return nil
	}
	err := attempt(func(e *raw.Tutti_error) int32 {
		return raw.Tutti_object_add_items(b.object, unsafe.SliceData(b.items),
			int64(len(b.items)), 0, e)
	})
	b.items = b.items[:0]
	b.pins.Unpin()
	return err
}

// keep pins memory until the next flush, and gives its address.
func (b *builder) keep(memory unsafe.Pointer) uintptr {
	pin(&b.pins, memory)
	return uintptr(memory)
}

func (b *builder) put(item raw.Tutti_object_item) error {
	b.items = append(b.items, item)
	if len(b.items) < itemsAtOnce {
		return nil
	}
	return b.flush()
}

// add adds a value of one of the types that are most often met; others by reflection.
func (b *builder) add(value any) error {
	switch v := value.(type) {
	case nil:
		return b.put(raw.Tutti_object_item{Kind: raw.TUTTI_OBJECT_NIL})
	case bool:
		return b.put(raw.Tutti_object_item{Kind: raw.TUTTI_OBJECT_BOOL, Integer: int64(toInt(v))})
	case int:
		return b.put(integer(int64(v)))
	case int64:
		return b.put(integer(v))
	case float64:
		return b.put(raw.Tutti_object_item{Kind: raw.TUTTI_OBJECT_FLOAT64, Real: v})
	case string:
		return b.put(b.text(v))
	case []byte:
		return b.put(b.bytes(v))
	case time.Time:
		return b.put(raw.Tutti_object_item{Kind: raw.TUTTI_OBJECT_TIMESTAMP, Integer: v.Unix(),
			Nanoseconds: int32(v.Nanosecond())})
	case *Array:
		if v != nil {
			return b.array(v)
		}
	case Array:
		return b.array(&v)
	case *Object:
		return b.copyOf(v)
	}
	return b.reflected(reflect.ValueOf(value))
}

func integer(value int64) raw.Tutti_object_item {
	return raw.Tutti_object_item{Kind: raw.TUTTI_OBJECT_INT64, Integer: value}
}

func unsigned(value uint64) raw.Tutti_object_item {
	if value < 1<<63 {
		return integer(int64(value))
	}
	return raw.Tutti_object_item{Kind: raw.TUTTI_OBJECT_UINT64, Integer: int64(value)}
}

func (b *builder) text(text string) raw.Tutti_object_item {
	item := raw.Tutti_object_item{Kind: raw.TUTTI_OBJECT_STRING, Size: int64(len(text))}
	if len(text) > 0 {
		item.Data = b.keep(unsafe.Pointer(unsafe.StringData(text)))
	}
	return item
}

func (b *builder) bytes(bytes []byte) raw.Tutti_object_item {
	item := raw.Tutti_object_item{Kind: raw.TUTTI_OBJECT_BYTES, Size: int64(len(bytes))}
	if len(bytes) > 0 {
		item.Data = b.keep(unsafe.Pointer(unsafe.SliceData(bytes)))
	}
	return item
}

func (b *builder) array(array *Array) error {
	var item raw.Tutti_object_item
	if err := b.describeArray(array, &item); err != nil {
		return err
	}
	return b.put(item)
}

// copyOf adds a copy of what is in another object.
func (b *builder) copyOf(object *Object) error {
	if err := b.flush(); err != nil {
		return err
	}
	return attempt(func(e *raw.Tutti_error) int32 {
		return raw.Tutti_object_add_object(b.object, object.handle(), 0, e)
	})
}

// reflected adds a value whose type is made from one of those above, or holds several values.
func (b *builder) reflected(value reflect.Value) error {
	switch value.Kind() {
	case reflect.Bool:
		return b.add(value.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return b.put(integer(value.Int()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return b.put(unsigned(value.Uint()))
	case reflect.Float32, reflect.Float64:
		return b.add(value.Float())
	case reflect.String:
		return b.add(value.String())
	case reflect.Slice, reflect.Map, reflect.Pointer, reflect.Interface:
		if value.IsNil() {
			return b.add(nil)
		}
	}
	b.depth++
	defer func() { b.depth-- }()
	if b.depth > deepest {
		return invalid("the value is deeper than %d, or contains itself", deepest)
	}
	switch value.Kind() {
	case reflect.Slice:
		return b.slice(value)
	case reflect.Array:
		copied := reflect.MakeSlice(reflect.SliceOf(value.Type().Elem()), value.Len(), value.Len())
		reflect.Copy(copied, value)
		return b.slice(copied)
	case reflect.Map:
		return b.mapping(value)
	case reflect.Pointer, reflect.Interface:
		return b.add(value.Elem().Interface())
	}
	return invalid("a %s is no value that an object can hold", value.Type())
}

// slice adds bytes, an array of numbers, or a list of anything else.
func (b *builder) slice(value reflect.Value) error {
	if value.Type().Elem().Kind() == reflect.Uint8 {
		return b.add(value.Bytes())
	}
	if _, numbers := dtypeOfSlice(value.Type()); numbers {
		return b.array(&Array{Data: value.Interface(), Shape: []int{value.Len()}})
	}
	err := b.put(raw.Tutti_object_item{Kind: raw.TUTTI_OBJECT_LIST, Size: int64(value.Len())})
	for i := 0; err == nil && i < value.Len(); i++ {
		err = b.add(value.Index(i).Interface())
	}
	return err
}

// mapping adds a map: integer keys in their order, then strings in theirs.
func (b *builder) mapping(value reflect.Value) error {
	keys := value.MapKeys()
	slices.SortFunc(keys, compareKeys)
	err := b.put(raw.Tutti_object_item{Kind: raw.TUTTI_OBJECT_MAP, Size: int64(len(keys))})
	for i := 0; err == nil && i < len(keys); i++ {
		var item raw.Tutti_object_item
		if err = describeKey(&item, keys[i].Interface(), &b.pins); err == nil {
			err = b.put(item)
		}
		if err == nil {
			err = b.add(value.MapIndex(keys[i]).Interface())
		}
	}
	return err
}

// compareKeys is the order of two keys of a map; what is no key comes last.
func compareKeys(a, b reflect.Value) int {
	if a.Kind() == reflect.Interface {
		a, b = a.Elem(), b.Elem()
	}
	aClass, aNumber, aText := sortKey(a)
	bClass, bNumber, bText := sortKey(b)
	if order := cmp.Compare(aClass, bClass); order != 0 {
		return order
	}
	if order := cmp.Compare(aNumber, bNumber); order != 0 {
		return order
	}
	return strings.Compare(aText, bText)
}

// sortKey is a key as what is compared one after the other.
func sortKey(key reflect.Value) (int, uint64, string) {
	switch {
	case key.CanInt() && key.Int() < 0:
		return -1, uint64(key.Int()), ""
	case key.CanInt():
		return 0, uint64(key.Int()), ""
	case key.CanUint():
		return 0, key.Uint(), ""
	case key.Kind() == reflect.String:
		return 1, 0, key.String()
	}
	return 2, 0, ""
}

// describeKey describes a key of a map to C, and pins its memory.
func describeKey(item *raw.Tutti_object_item, key any, pins *runtime.Pinner) error {
	value := reflect.ValueOf(key)
	switch {
	case !value.IsValid():
	case value.Kind() == reflect.String:
		text := value.String()
		*item = raw.Tutti_object_item{Kind: raw.TUTTI_OBJECT_STRING, Size: int64(len(text))}
		if len(text) > 0 {
			data := unsafe.StringData(text)
			pin(pins, data)
			item.Data = uintptr(unsafe.Pointer(data))
		}
		return nil
	case value.CanInt():
		*item = integer(value.Int())
		return nil
	case value.CanUint():
		*item = unsigned(value.Uint())
		return nil
	}
	return invalid("a %T is no key that an object can have: those are strings and integers", key)
}

// asInteger is a number that may be a place in a list; one that is too large is none in any.
func asInteger(value any) (int64, bool) {
	number := reflect.ValueOf(value)
	switch {
	case !number.IsValid():
	case number.CanInt():
		return number.Int(), true
	case number.CanUint():
		return int64(min(number.Uint(), math.MaxInt64)), true
	}
	return 0, false
}
