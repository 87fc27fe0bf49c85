package tutti

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"tutti/internal/raw"
)

// Mesh is the ranks of a group in rows and columns of any number of dimensions, with a group along
// each of them; torch's DeviceMesh. Any number of goroutines may read it.
type Mesh struct {
	number  atomic.Uintptr
	memory  sync.RWMutex // of C's, which is read: Close waits
	timeout int64        // of its groups
}

// MeshOptions are the options of a mesh; zero is every field's default, and so is a nil pointer.
type MeshOptions struct {
	DimNames     []string      // a name for each dimension; nil: none
	DeviceType   string        // "cpu", which is the default
	Timeout      time.Duration // of making the groups and their own; 0: that of the group
	Reproducible bool          // of the groups; false: as the group
}

func newMesh(handle raw.Tutti_mesh, timeout int64) *Mesh {
	m := &Mesh{timeout: timeout}
	m.number.Store(uintptr(handle))
	runtime.SetFinalizer(m, (*Mesh).Close)
	return m
}

func (m *Mesh) handle() raw.Tutti_mesh {
	if m == nil {
		return 0
	}
	return raw.Tutti_mesh(m.number.Load())
}

// Close gives the mesh back; its groups end in the background once nothing else holds them. A Mesh
// that is not closed is when the garbage collector finds it.
func (m *Mesh) Close() error {
	if m != nil {
		runtime.SetFinalizer(m, nil)
		m.memory.Lock()
		defer m.memory.Unlock()
		raw.Tutti_mesh_release(raw.Tutti_mesh(m.number.Swap(0)))
	}
	return nil
}

// InitDeviceMesh lays the first ranks of a group out as a mesh, row by row (the last dimension
// varies fastest), and makes the groups along its dimensions. Every rank of the group calls it with
// the same arguments, also those that the mesh has no place for. If the group is [World] and there
// is none yet, it is made, by "env://".
func InitDeviceMesh(ctx context.Context, g *Group, shape []int,
	options *MeshOptions) (*Mesh, error) {
	defer runtime.KeepAlive(g)
	options, device, names, err := options.forC(len(shape))
	if err != nil {
		return nil, err
	}
	defer names.release()
	var otherwise int64
	if g != nil {
		otherwise = g.timeout.Load()
	}
	m, err := makingWithin(ctx, milliseconds(options.Timeout), otherwise)
	if err != nil {
		return nil, err
	}
	lengths := int32s(shape)
	var handle raw.Tutti_mesh
	err = attempt(func(e *raw.Tutti_error) int32 {
		return raw.Tutti_init_device_mesh(g.handle(), device, unsafe.SliceData(lengths),
			uint64(len(lengths)), names.first(), groupOptions(options.Reproducible, m), &handle, e)
	})
	if err != nil {
		return nil, deadlineError(ctx, err)
	}
	mesh := newMesh(handle, m.later)
	return mesh, mesh.settle(m)
}

// settle gives the groups the timeout they should have if making them had another one.
func (m *Mesh) settle(limits making) error {
	if limits.now == limits.later || limits.now == 0 {
		return nil
	}
	groups, err := m.AllGroups()
	for _, group := range groups {
		if err == nil {
			err = limits.settle(group)
		}
		if group != nonMember {
			group.release()
		}
	}
	return err
}

// forC is what the options are to C; the names are to be released.
func (o *MeshOptions) forC(dimensions int) (*MeshOptions, *byte, *addresses, error) {
	if o == nil {
		o = &MeshOptions{}
	}
	if o.DimNames != nil && len(o.DimNames) != dimensions {
		return nil, nil, nil, invalid("options.DimNames has %d names for %d dimensions",
			len(o.DimNames), dimensions)
	}
	name := o.DeviceType
	if name == "" {
		name = "cpu"
	}
	device, err := cText("options.DeviceType", name)
	if err != nil {
		return nil, nil, nil, err
	}
	names, err := cTexts("options.DimNames", o.DimNames)
	return o, device, names, err
}

// MeshFromGroup makes a mesh of groups that are there already, one for each dimension: the ranks
// that differ from this one in that dimension alone. ranks are the global ranks of the mesh, row by
// row, in the shape; both nil for one dimension. Nothing is sent to other ranks.
func MeshFromGroup(groups []*Group, ranks, shape []int, options *MeshOptions) (*Mesh, error) {
	defer runtime.KeepAlive(groups)
	_, device, names, err := options.forC(len(groups))
	if err != nil {
		return nil, err
	}
	defer names.release()
	if ranks != nil && shape != nil {
		if len(shape) != len(groups) {
			return nil, invalid("shape has %d lengths for %d groups", len(shape), len(groups))
		}
		if product := volume(shape); product != len(ranks) {
			return nil, invalid("there are %d ranks for a shape of %d", len(ranks), product)
		}
	}
	handles := make([]raw.Tutti_group, len(groups))
	for i, group := range groups {
		handles[i] = group.handle()
	}
	var handle raw.Tutti_mesh
	err = attempt(func(e *raw.Tutti_error) int32 {
		return raw.Tutti_mesh_from_group(unsafe.SliceData(handles), device, int32sOrNil(ranks),
			int32sOrNil(shape), uint64(len(groups)), names.first(), &handle, e)
	})
	if err != nil {
		return nil, err
	}
	return newMesh(handle, groups[0].timeout.Load()), nil
}

func int32sOrNil(numbers []int) *int32 {
	if numbers == nil {
		return nil
	}
	return unsafe.SliceData(int32s(numbers))
}

func volume(shape []int) int {
	product := 1
	for _, length := range shape {
		product *= length
	}
	return product
}

// Group is the group along one dimension; for a mesh of one dimension dim may be -1. Ranks that are
// not in the mesh get a group that they are no member of.
func (m *Mesh) Group(dim int) (*Group, error) { return m.group(toInt32(dim), nil) }

// GroupByName is the group along the dimension of a name, or one that [Mesh.Flatten] gave.
func (m *Mesh) GroupByName(name string) (*Group, error) {
	text, err := cText("name", name)
	if err != nil {
		return nil, err
	}
	return m.group(-1, text)
}

func (m *Mesh) group(dim int32, name *byte) (*Group, error) {
	defer runtime.KeepAlive(m)
	var handle raw.Tutti_group
	err := attempt(func(e *raw.Tutti_error) int32 {
		return raw.Tutti_mesh_get_group(m.handle(), dim, name, &handle, e)
	})
	if err != nil {
		return nil, err
	}
	return newGroup(handle, m.timeout), nil
}

// AllGroups are the groups along all dimensions, in their order.
func (m *Mesh) AllGroups() ([]*Group, error) {
	defer runtime.KeepAlive(m)
	handles := make([]raw.Tutti_group, max(0, m.NDim()))
	err := attempt(func(e *raw.Tutti_error) int32 {
		return raw.Tutti_mesh_get_all_groups(m.handle(), unsafe.SliceData(handles),
			uint64(len(handles)), e)
	})
	if err != nil {
		return nil, err
	}
	groups := make([]*Group, len(handles))
	for i, handle := range handles {
		groups[i] = newGroup(handle, m.timeout)
	}
	return groups, nil
}

// LocalRank is this rank's place along one dimension, which is its rank in that dimension's group;
// -1 on a rank that is not in the mesh.
func (m *Mesh) LocalRank(dim int) (int, error) { return m.localRank(toInt32(dim), nil) }

// LocalRankByName is [Mesh.LocalRank] by the dimension's name.
func (m *Mesh) LocalRankByName(name string) (int, error) {
	text, err := cText("name", name)
	if err != nil {
		return -1, err
	}
	return m.localRank(-1, text)
}

func (m *Mesh) localRank(dim int32, name *byte) (int, error) {
	defer runtime.KeepAlive(m)
	rank := int32(-1)
	err := attempt(func(e *raw.Tutti_error) int32 {
		return raw.Tutti_mesh_get_local_rank(m.handle(), dim, name, &rank, e)
	})
	return int(rank), err
}

// Coordinate is this rank's place along all dimensions; -1 each on a rank that is not in the mesh.
func (m *Mesh) Coordinate() ([]int, error) {
	return m.numbers(m.NDim(), raw.Tutti_mesh_get_coordinate)
}

// Shape is the length of every dimension.
func (m *Mesh) Shape() ([]int, error) { return m.numbers(m.NDim(), raw.Tutti_mesh_shape) }

// Ranks are the global ranks of the mesh, row by row; torch's DeviceMesh.mesh.
func (m *Mesh) Ranks() ([]int, error) { return m.numbers(m.Size(-1), raw.Tutti_mesh_ranks) }

func (m *Mesh) numbers(count int,
	read func(raw.Tutti_mesh, *int32, uint64, *raw.Tutti_error) int32) ([]int, error) {
	defer runtime.KeepAlive(m)
	list := make([]int32, max(0, count))
	err := attempt(func(e *raw.Tutti_error) int32 {
		return read(m.handle(), unsafe.SliceData(list), uint64(len(list)), e)
	})
	if err != nil {
		return nil, err
	}
	return ints(list), nil
}

// Rank is the global rank of this process, in the mesh or not; -1 if the mesh is closed.
func (m *Mesh) Rank() int {
	defer runtime.KeepAlive(m)
	return int(raw.Tutti_mesh_get_rank(m.handle()))
}

// Size is the length of a dimension, or with -1 how many ranks the mesh has.
func (m *Mesh) Size(dim int) int {
	defer runtime.KeepAlive(m)
	return int(raw.Tutti_mesh_size(m.handle(), toInt32(dim)))
}

// NDim is how many dimensions the mesh has; -1 if it is closed.
func (m *Mesh) NDim() int {
	defer runtime.KeepAlive(m)
	return int(raw.Tutti_mesh_ndim(m.handle()))
}

// DimName is the name of a dimension; "" if it has none.
func (m *Mesh) DimName(dim int) string {
	if m == nil {
		return ""
	}
	m.memory.RLock()
	defer m.memory.RUnlock()
	return goString(raw.Tutti_mesh_dim_name(m.handle(), toInt32(dim)))
}

// Slice is the part of the mesh that this rank sees along the dimensions of these names, in their
// order: torch's mesh["dp", "tp"]. Nothing is sent to other ranks.
func (m *Mesh) Slice(names ...string) (*Mesh, error) {
	defer runtime.KeepAlive(m)
	list, err := cTexts("names", names)
	if err != nil {
		return nil, err
	}
	defer list.release()
	var handle raw.Tutti_mesh
	err = attempt(func(e *raw.Tutti_error) int32 {
		return raw.Tutti_mesh_slice(m.handle(), list.first(), list.count(), &handle, e)
	})
	if err != nil {
		return nil, err
	}
	return newMesh(handle, m.timeout), nil
}

// Flatten is the mesh in one dimension, with a group of all its ranks; all ranks of the mesh call
// it. name is that of the dimension; "": the names of the dimensions, joined by "_". Of the options
// Timeout and Reproducible count.
func (m *Mesh) Flatten(ctx context.Context, name string, options *MeshOptions) (*Mesh, error) {
	defer runtime.KeepAlive(m)
	if m.handle() == 0 {
		return nil, errMeshClosed
	}
	if options == nil {
		options = &MeshOptions{}
	}
	limits, err := makingWithin(ctx, milliseconds(options.Timeout), m.timeout)
	if err != nil {
		return nil, err
	}
	text, err := cTextOrNil("name", name)
	if err != nil {
		return nil, err
	}
	var handle raw.Tutti_mesh
	err = attempt(func(e *raw.Tutti_error) int32 {
		return raw.Tutti_mesh_flatten(m.handle(), text, groupOptions(options.Reproducible, limits),
			&handle, e)
	})
	if err != nil {
		return nil, deadlineError(ctx, err)
	}
	flat := newMesh(handle, limits.later)
	return flat, flat.settle(limits)
}

var errMeshClosed = &Error{Status: ErrInvalidHandle, Rank: -1, Message: "the mesh is nil or closed"}
