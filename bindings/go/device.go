package tutti

import (
	"unsafe"

	"tutti/internal/raw"
)

// Device says where the slices of a call are, and when it runs; see [Group.OnDevice].
type Device struct {
	Type  DeviceType
	Index int
	// Stream is a stream of the device, for instance a cudaStream_t or CUstream. Calls return when
	// they are enqueued on it, and what is enqueued on it later finds their results; a [Work] begins
	// behind what is enqueued on it. 0: none, and a call returns when it is done.
	Stream uintptr
}

// OnDevice gives the same group for slices that are on a device: those of [DeviceSlice], and of
// [Alloc] with this Group. Its collectives, messages and reducers take them where they are. Objects
// and bytes are in the memory of the CPU, so they go by the Group that this was called on. To close
// either closes both.
func (g *Group) OnDevice(device Device) *Group {
	if g == nil {
		return nil
	}
	base := g.base()
	return &Group{of: base, device: &device, tagName: g.tagName, collected: base.collected}
}

// base is the Group that has C's handle.
func (g *Group) base() *Group {
	if g != nil && g.of != nil {
		return g.of
	}
	return g
}

// checkBound refuses what no group can be bound to.
func (d Device) checkBound() error {
	if d.Stream != 0 {
		return invalid("options.Device.Stream is given; a group is bound to a device alone")
	}
	return nil
}

// DeviceSlice is memory of a device as a slice, for calls on a Group of [Group.OnDevice]: count
// elements at an address of the device, such as a CUdeviceptr. Only its length and its parts,
// slice[2:5], are of use to Go: to read or write an element ends the program, as the CPU does not
// have it. The garbage collector leaves it alone; the caller keeps the memory until the operation
// is done, or until the stream has come past it.
func DeviceSlice[T Element](address uintptr, count int) []T {
	if address == 0 || count < 0 {
		return nil
	}
	return unsafe.Slice((*T)(pointer(address)), count)
}

// onStream tells whether the call is enqueued on a stream.
func (c *call) onStream() bool { return c.device != nil && c.device.Stream != 0 }

// place tells C that a buffer is on the device.
func (d *Device) place(buffer *raw.Tutti_buffer) {
	buffer.Device_type = int32(d.Type)
	buffer.Device_index = toInt32(d.Index)
}

// coalescingOptions are those of a coalescing of calls on a device; nil, the defaults, on the CPU.
func (d *Device) coalescingOptions() *raw.Tutti_coalescing_options {
	if d == nil {
		return nil
	}
	options := &raw.Tutti_coalescing_options{
		Device_type: int32(d.Type), Device_index: toInt32(d.Index),
	}
	options.Struct_size = uint32(unsafe.Sizeof(*options))
	return options
}
