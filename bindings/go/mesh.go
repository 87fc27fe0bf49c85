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

// DeviceType is where data are, with torch's numbers.
type DeviceType int32

// Where data may be.
const (
	CPU  = DeviceType(raw.TUTTI_CPU)
	CUDA = DeviceType(raw.TUTTI_CUDA) // NVIDIA GPUs
	XPU  = DeviceType(raw.TUTTI_XPU)  // Intel GPUs
)

// Mesh is the ranks of a group in rows and columns of any number of dimensions, with a group along
// each of them; torch's DeviceMesh. Any number of goroutines may read it.
type Mesh struct {
	number atomic.Uintptr
	memory sync.RWMutex // of C's, which is read: Close waits
}

// MeshOptions are the options of a mesh; zero is every field's default, and so is a nil pointer.
type MeshOptions struct {
	DimNames     []string      // a name for each dimension; nil: none
	DeviceType   DeviceType    // where the data of the mesh's groups are
	Device       Device        // the one device of this rank; zero: as the group
	Timeout      time.Duration // of making the groups and their own; 0: that of the group
	Reproducible bool          // of the groups; false: as the group
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
	return options.make(ctx, len(shape), g.timeoutToBe, func(o layout, e *raw.Tutti_error) int32 {
		return raw.Tutti_init_device_mesh(g.handle(), int64s(shape), toInt32(len(shape)),
			o.names.first(), o.device, o.options, o.mesh, e)
	})
}

// NewDeviceMesh lays any ranks of a group out as a mesh of a shape, in any order, row by row, and
// makes the groups along its dimensions; torch's DeviceMesh(). Every rank of the group calls it, as
// [InitDeviceMesh]. In each group the ranks are numbered as they lie in the mesh.
func NewDeviceMesh(ctx context.Context, g *Group, ranks, shape []int,
	options *MeshOptions) (*Mesh, error) {
	return options.make(ctx, len(shape), g.timeoutToBe, func(o layout, e *raw.Tutti_error) int32 {
		return raw.Tutti_mesh_create(g.handle(), int32sOrNil(ranks), int64(len(ranks)),
			int64s(shape), toInt32(len(shape)), o.names.first(), o.device, o.options, o.mesh, e)
	})
}

// MeshFromGroup makes a mesh of groups that are there already, one for each dimension: the ranks
// that differ from this one in that dimension alone. ranks are the global ranks of the mesh, row by
// row, in the shape; both nil for one dimension. Nothing is sent to other ranks. Timeout and
// Reproducible of the options are what [Mesh.Flatten] makes of it.
func MeshFromGroup(groups []*Group, ranks, shape []int, options *MeshOptions) (*Mesh, error) {
	defer runtime.KeepAlive(groups)
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
	return options.make(context.Background(), len(groups), nil,
		func(o layout, e *raw.Tutti_error) int32 {
			return raw.Tutti_mesh_from_group(unsafe.SliceData(handles), int32sOrNil(ranks),
				int64s(shape), toInt32(len(groups)), o.names.first(), o.device, o.options, o.mesh, e)
		})
}

// timeoutToBe is the group's timeout, also of the default group that is made where there is none.
func (g *Group) timeoutToBe() (time.Duration, error) {
	if g.base() == world && !IsInitialized() {
		return defaultTimeout, nil
	}
	return g.Timeout()
}

// A layout is what making a mesh takes in C, and gives.
type layout struct {
	names   *addresses
	device  int32
	options *raw.Tutti_group_options
	mesh    *raw.Tutti_mesh
}

// make makes a mesh of so many dimensions. otherwise is the timeout where the options have none.
func (o *MeshOptions) make(ctx context.Context, dimensions int,
	otherwise func() (time.Duration, error), create func(layout, *raw.Tutti_error) int32,
) (*Mesh, error) {
	if o == nil {
		o = &MeshOptions{}
	}
	if o.DimNames != nil && len(o.DimNames) != dimensions {
		return nil, invalid("options.DimNames has %d names for %d dimensions", len(o.DimNames),
			dimensions)
	}
	if err := o.Device.checkBound(); err != nil {
		return nil, err
	}
	names, err := cTexts("options.DimNames", o.DimNames)
	if err != nil {
		return nil, err
	}
	defer names.release()
	m, err := makingWithin(ctx, o.Timeout, otherwise)
	if err != nil {
		return nil, err
	}
	handle, err := ask(func(mesh *raw.Tutti_mesh, e *raw.Tutti_error) int32 {
		options := groupOptions(o.Reproducible, o.Device, m)
		return create(layout{names, int32(o.DeviceType), options, mesh}, e)
	})
	if err != nil {
		return nil, deadlineError(ctx, err)
	}
	mesh := &Mesh{}
	mesh.number.Store(uintptr(handle))
	runtime.SetFinalizer(mesh, (*Mesh).Close)
	return mesh, mesh.settle(m)
}

// settle gives the groups the timeout they should have if making them had another one.
func (m *Mesh) settle(limits making) error {
	if limits.later == 0 {
		return nil
	}
	groups, err := m.AllGroups()
	for _, group := range groups {
		if err == nil {
			err = limits.settle(group)
		}
		group.Release()
	}
	return err
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

// FindDim is the number of the dimension of a name. Dimensions that [Mesh.Flatten] made have the
// numbers from [Mesh.NDim] on, in the order in which they were made.
func (m *Mesh) FindDim(name string) (int, error) {
	text, err := cText("name", name)
	if err != nil {
		return -1, err
	}
	dim, err := ask(func(dim *int32, e *raw.Tutti_error) int32 {
		return raw.Tutti_mesh_find_dim(m.handle(), text, dim, e)
	})
	if err != nil {
		return -1, err
	}
	return int(dim), nil
}

// Group is the group along one dimension; for a mesh of one dimension dim may be -1. Ranks that are
// not in the mesh get a group that they are no member of.
func (m *Mesh) Group(dim int) (*Group, error) {
	handle, err := ask(func(handle *raw.Tutti_group, e *raw.Tutti_error) int32 {
		return raw.Tutti_mesh_get_group(m.handle(), toInt32(dim), handle, e)
	})
	if err != nil {
		return nil, err
	}
	return newGroup(handle), nil
}

// GroupByName is the group along the dimension of a name.
func (m *Mesh) GroupByName(name string) (*Group, error) {
	dim, err := m.FindDim(name)
	if err != nil {
		return nil, err
	}
	return m.Group(dim)
}

// AllGroups are the groups along all dimensions, in their order.
func (m *Mesh) AllGroups() ([]*Group, error) {
	handles := make([]raw.Tutti_group, max(0, m.NDim()))
	err := attempt(func(e *raw.Tutti_error) int32 {
		return raw.Tutti_mesh_get_all_groups(m.handle(), unsafe.SliceData(handles),
			int64(len(handles)), e)
	})
	if err != nil {
		return nil, err
	}
	groups := make([]*Group, len(handles))
	for i, handle := range handles {
		groups[i] = newGroup(handle)
	}
	return groups, nil
}

// LocalRank is this rank's place along one dimension, which is its rank in that dimension's group;
// -1 on a rank that is not in the mesh.
func (m *Mesh) LocalRank(dim int) (int, error) {
	rank := int32(-1)
	err := attempt(func(e *raw.Tutti_error) int32 {
		return raw.Tutti_mesh_get_local_rank(m.handle(), toInt32(dim), &rank, e)
	})
	return int(rank), err
}

// Coordinate is this rank's place along all dimensions; -1 each on a rank that is not in the mesh.
func (m *Mesh) Coordinate() ([]int, error) {
	return readMesh(m, m.NDim(), raw.Tutti_mesh_get_coordinate)
}

// Shape is the length of every dimension.
func (m *Mesh) Shape() ([]int, error) { return readMesh(m, m.NDim(), raw.Tutti_mesh_shape) }

// Ranks are the global ranks of the mesh, row by row; torch's DeviceMesh.mesh.
func (m *Mesh) Ranks() ([]int, error) { return readMesh(m, m.Size(-1), raw.Tutti_mesh_ranks) }

func readMesh[T int32 | int64](m *Mesh, count int,
	read func(raw.Tutti_mesh, *T, int64, *raw.Tutti_error) int32) ([]int, error) {
	list := make([]T, max(0, count))
	err := attempt(func(e *raw.Tutti_error) int32 {
		return read(m.handle(), unsafe.SliceData(list), int64(len(list)), e)
	})
	if err != nil {
		return nil, err
	}
	return ints(list), nil
}

// DeviceType is where the data of the mesh's groups are; -1 if the mesh is closed.
func (m *Mesh) DeviceType() DeviceType {
	defer runtime.KeepAlive(m)
	return DeviceType(raw.Tutti_mesh_device_type(m.handle()))
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
	list, err := cTexts("names", names)
	if err != nil {
		return nil, err
	}
	defer list.release()
	var none *MeshOptions
	return none.make(context.Background(), 0, nil, func(o layout, e *raw.Tutti_error) int32 {
		return raw.Tutti_mesh_slice(m.handle(), list.first(), list.count(), o.mesh, e)
	})
}

// Flatten is the mesh in one dimension, with a group of all its ranks; all ranks of the mesh call
// it. name is that of the dimension; "": the names of the dimensions, joined by "_". Of the options
// Timeout and Reproducible count; where they have none, those of the mesh.
func (m *Mesh) Flatten(ctx context.Context, name string, options *MeshOptions) (*Mesh, error) {
	text, err := cTextOrNil("name", name)
	if err != nil {
		return nil, err
	}
	return options.make(ctx, 1, m.timeout, func(o layout, e *raw.Tutti_error) int32 {
		return raw.Tutti_mesh_flatten(m.handle(), text, o.options, o.mesh, e)
	})
}

// timeout is that of the mesh's groups.
func (m *Mesh) timeout() (time.Duration, error) {
	first, err := m.Group(0)
	if err != nil {
		return 0, err
	}
	defer first.Release()
	return first.Timeout()
}
