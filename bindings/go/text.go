package tutti

import (
	"runtime"
	"strings"
	"unsafe"

	"tutti/internal/raw"
)

// cText copies text for C, with a NUL behind it.
func cText(name, text string) (*byte, error) {
	if at := strings.IndexByte(text, 0); at >= 0 {
		return nil, invalid("%s has a NUL at byte %d", name, at)
	}
	bytes := make([]byte, len(text)+1)
	copy(bytes, text)
	return &bytes[0], nil
}

// cTextOrNil is cText, but nil, which is C's NULL, for "".
func cTextOrNil(name, text string) (*byte, error) {
	if text == "" {
		return nil, nil
	}
	return cText(name, text)
}

// addresses is a list of pointers for C, which stay where they are until it is released.
type addresses struct {
	list []uintptr
	pins runtime.Pinner
}

func (a *addresses) release() { a.pins.Unpin() }

// first is what C takes for the list; nil for an empty one.
func (a *addresses) first() *uintptr { return unsafe.SliceData(a.list) }

func (a *addresses) count() int64 { return int64(len(a.list)) }

func (a *addresses) add(pointer *byte) {
	if pointer != nil {
		pin(&a.pins, pointer)
	}
	a.list = append(a.list, uintptr(unsafe.Pointer(pointer)))
}

// cTexts makes a list of texts, to be released.
func cTexts(name string, texts []string) (*addresses, error) {
	made := &addresses{}
	for _, text := range texts {
		one, err := cText(name, text)
		if err != nil {
			made.release()
			return nil, err
		}
		made.add(one)
	}
	return made, nil
}

// cValues makes a list of byte strings and one of their lengths, to be released.
func cValues(values [][]byte) (*addresses, []uint64) {
	made := &addresses{}
	sizes := make([]uint64, len(values))
	for i, value := range values {
		made.add(bytesPointer(value))
		sizes[i] = uint64(len(value))
	}
	return made, sizes
}

// bytesPointer is where the bytes are; nil if there are none.
func bytesPointer(bytes []byte) *byte {
	if len(bytes) == 0 {
		return nil
	}
	return unsafe.SliceData(bytes)
}

// takeBytes copies bytes that C gave, and gives them back.
func takeBytes(bytes raw.Tutti_bytes) []byte {
	size := raw.Tutti_bytes_size(bytes)
	copied := make([]byte, size)
	if size > 0 {
		copy(copied, unsafe.Slice((*byte)(raw.Tutti_bytes_data(bytes)), size))
	}
	raw.Tutti_bytes_release(bytes)
	return copied
}
