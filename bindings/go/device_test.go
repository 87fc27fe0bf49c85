package tutti

import (
	"os"
	"runtime"
	"strings"
	"testing"
	"unsafe"
)

// There is no C in tests of Go: messages of a rank to itself take data to a device and back.

// move sends a rank's slice to another of its slices; one of them may be on a device.
func move(t *testing.T, to *Group, result []float32, from *Group, data []float32) {
	t.Helper()
	sent := must(Isend(background, from, data, from.Rank(), 7))
	received := must(Irecv(background, to, result, to.Rank(), 7))
	check(t, sent.Wait(background))
	check(t, received.Wait(background))
}

func needNoDevice(t *testing.T) {
	if os.Getenv("TUTTI_CUDA_LIBRARY") != "" {
		t.Skip("there may be devices")
	}
}

// refuses fails unless an argument of this name is refused, as it is on a device.
func refuses(t *testing.T, err error, name string) {
	t.Helper()
	failsWith(t, err, ErrUnsupported)
	if err != nil && !(strings.Contains(err.Error(), name) && strings.Contains(err.Error(), "cuda")) {
		t.Errorf("%q does not name %s on cuda", err, name)
	}
}

func refusesWork(t *testing.T, name string) func(*Work, error) {
	return func(_ *Work, err error) {
		t.Helper()
		refuses(t, err, name)
	}
}

func TestADeviceSliceIsAnAddressAndALength(t *testing.T) {
	slice := DeviceSlice[float32](0x70000000, 10)
	is(t, len(slice), 10)
	is(t, uintptr(unsafe.Pointer(unsafe.SliceData(slice[4:]))), uintptr(0x70000010))
	is(t, len(DeviceSlice[int8](0, 10)), 0)
}

func TestBuffersOnADeviceSayWhichOne(t *testing.T) {
	g := World().OnDevice(Device{Type: CUDA, Index: 3, Stream: 0x5000})
	c := newCall(g)
	defer c.release()
	buffer := view(c, &c.frame.first, DeviceSlice[float64](0x70000000, 7))
	is(t, []int64{int64(buffer.Data), buffer.Count, int64(buffer.Dtype)},
		[]int64{0x70000000, 7, int64(Float64DType)})
	is(t, []int32{buffer.Device_type, buffer.Device_index}, []int32{1, 3})
	is(t, c.limits(background).Stream, uintptr(0x5000))
	plain := newCall(World())
	defer plain.release()
	is(t, plain.limits(background).Stream, uintptr(0))
}

func TestSlicesOfTheCPUArePinnedAlsoIfTheGroupSaysCPU(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		cpu := g.OnDevice(Device{Type: CPU})
		var works []*Work
		for i := 0; i < 100; i++ {
			works = append(works, must(AllReduceAsync(background, cpu, make([]int, 1000), Sum)))
			if i%10 == 0 {
				runtime.GC()
			}
		}
		check(t, WaitAll(background, works...))
	})
}

func TestWithoutADeviceEveryCallRefusesIt(t *testing.T) {
	needNoDevice(t)
	onRanks(t, 2, func(t *testing.T, g *Group) {
		gpu := g.OnDevice(Device{Type: CUDA, Index: 1})
		data := DeviceSlice[float32](0x70000000, 2)
		one, list := data[:1], [][]float32{data[:1], data[1:]}
		is(t, []int{gpu.Rank(), gpu.Size()}, []int{g.Rank(), 2})
		refuses(t, Broadcast(background, gpu, data, 0), "buffer")
		refuses(t, AllReduce(background, gpu, data, Sum), "buffer.")
		refuses(t, Reduce(background, gpu, data, Sum, 0), "buffer.")
		refuses(t, AllReduceInto(background, gpu, data, data, Sum), "put")
		refuses(t, AllReduceAddends(background, gpu, data, nil, Sum), "output")
		refuses(t, ReduceInto(background, gpu, nil, data, Sum, 1-g.Rank()), "put")
		refuses(t, AllGather(background, gpu, list, nil), "outputs[0]")
		refuses(t, AllGatherIntoTensor(background, gpu, data, one), "put")
		refuses(t, Gather(background, gpu, list, one, 0), "put")
		refuses(t, Scatter(background, gpu, one, list, 0), "put")
		refuses(t, ReduceScatter(background, gpu, one, list, Sum), "put")
		refuses(t, ReduceScatterTensor(background, gpu, one, data, Sum), "put")
		refuses(t, AllToAll(background, gpu, list, nil), "outputs[0]")
		refuses(t, AllToAllSingle(background, gpu, data, nil, []int{1, 1}, []int{1, 1}), "output")
		some := []OnGPU[float32]{{*gpu.device, data}, {Device{Type: CUDA}, data}}
		refuses(t, BroadcastMultiGPU(background, g, some, 0, 0), "buffers[0]")
		refuses(t, AllReduceMultiGPU(background, g, some, Sum), "buffers[0]")
		refuses(t, ReduceMultiGPU(background, g, some, Sum, 0, 0), "buffers[0]")
		refuses(t, AllGatherMultiGPU(background, g, some, some[:1]), "put")
		refuses(t, ReduceScatterMultiGPU(background, g, some[:1], some, Sum), "put")
		refuses(t, Send(background, gpu, data, 0, 0), "buffer")
		_, err := Recv(background, gpu, data, 0, 0)
		refuses(t, err, "buffer")
		refusesWork(t, "buffer.")(AllReduceAsync(background, gpu, data, Sum))
		refusesWork(t, "buffer")(Irecv(background, gpu, data, 0, 0))
		_, err = BatchIsendIrecv(background, gpu, IsendOp(data, 0, 0))
		refuses(t, err, "ops[0]")
		refuses(t, Coalesce(background, gpu, func(*Group) error { return nil }), "options")
		_, err = NewReducer(background, gpu, []Parameter{Param("one", data)}, nil)
		refuses(t, err, "parameters[0]")
		_, err = Alloc[float32](background, gpu, 10)
		refuses(t, err, "options")
		bound := Device{Type: CUDA, Index: 1}
		_, err = g.NewGroup(background, nil, &NewGroupOptions{Device: bound})
		refuses(t, err, "options.DeviceType")
		_, err = InitDeviceMesh(background, g, []int{2}, &MeshOptions{Device: bound})
		refuses(t, err, "options.DeviceType")
		is(t, must(g.BoundDevice()), Device{})
		check(t, g.Barrier(background)) // the group goes on
		check(t, gpu.Barrier(background))
		check(t, gpu.Close())
		is(t, g.Size(), -1)
	})
}

func TestAGroupIsBoundToADeviceWithoutAStream(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		stream := Device{Type: CUDA, Stream: 0x5000}
		_, err := g.NewGroup(background, nil, &NewGroupOptions{Device: stream})
		failsWith(t, err, ErrInvalidArgument)
		_, err = InitDeviceMesh(background, g, []int{2}, &MeshOptions{Device: stream})
		failsWith(t, err, ErrInvalidArgument)
		options := &GroupOptions{Device: stream}
		_, err = CreateGroup(background, "", nil, g.Rank(), 2, options)
		failsWith(t, err, ErrInvalidArgument)
		_, err = InitProcessGroup(background, &InitOptions{GroupOptions: *options})
		failsWith(t, err, ErrInvalidArgument)
	})
}

func TestAStreamIsRefusedWithSlicesOfTheCPU(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		stream := g.OnDevice(Device{Type: CPU, Stream: 0x5000})
		err := AllReduce(background, stream, []int{1}, Sum)
		if err == nil || !strings.Contains(err.Error(), "Device.Stream is") {
			t.Errorf("%v does not name the stream", err)
		}
		if _, err := AllReduceAsync(background, stream, []int{1}, Sum); err == nil {
			t.Error("a work of a stream was started")
		}
		work := must(AllReduceAsync(background, g, []int{1}, Sum))
		check(t, work.Synchronize(0))
		is(t, work.IsCompleted(), true)
		if os.Getenv("TUTTI_CUDA_LIBRARY") == "" && work.Synchronize(1) == nil {
			t.Error("a stream of the CPU waits")
		}
		check(t, work.Close())
		failsWith(t, work.Synchronize(1), ErrInvalidHandle)
	})
}

func TestCallsOnADeviceWhereThereIsOne(t *testing.T) {
	if os.Getenv("TUTTI_CUDA_LIBRARY") == "" {
		t.Skip("TUTTI_CUDA_LIBRARY is not set")
	}
	onRanks(t, 2, func(t *testing.T, g *Group) {
		gpu := g.OnDevice(Device{Type: CUDA})
		bound := must(g.NewGroup(background, nil, &NewGroupOptions{Device: Device{Type: CUDA}}))
		is(t, must(bound.BoundDevice()), Device{Type: CUDA})
		mesh := must(InitDeviceMesh(background, bound, []int{2}, nil))
		is(t, must(must(mesh.Group(0)).BoundDevice()), Device{Type: CUDA})
		buffer := must(Alloc[float32](background, gpu, 1000))
		data := buffer.Slice()
		move(t, gpu, data[:3], g, []float32{1, 2, float32(g.Rank())})
		check(t, AllReduce(background, gpu, data[:3], Sum))
		check(t, AllReduce(background, bound.OnDevice(Device{Type: CUDA}), data[:1], Max))
		work := must(BroadcastAsync(background, gpu, data[:10], 1))
		check(t, work.Wait(background))
		check(t, AllGather(background, gpu, [][]float32{data[10:11], data[11:13]},
			data[1-g.Rank():][:1+g.Rank()]))
		result := make([]float32, 13)
		move(t, g, result, gpu, data[:13])
		is(t, result, []float32{2, 4, 1, 0, 0, 0, 0, 0, 0, 0, 4, 2, 4})
		check(t, g.Barrier(background))
		buffer.Free()
	})
}

// each gives a slice on each of the first two GPUs that begins at an element of its memory.
func each(memory [2][]float32, begin int) (slices []OnGPU[float32]) {
	for i := range memory {
		slices = append(slices, OnGPU[float32]{Device{Type: CUDA, Index: i}, memory[i][begin:][:2]})
	}
	return slices
}

// onTwoDevices runs a function with two ranks, which have memory on two devices each.
func onTwoDevices(t *testing.T, function func(t *testing.T, g *Group, memory [2][]float32)) {
	if os.Getenv("TUTTI_CUDA_LIBRARY") == "" {
		t.Skip("TUTTI_CUDA_LIBRARY is not set")
	}
	second := Device{Type: CUDA, Index: 1}
	onRanks(t, 1, func(t *testing.T, g *Group) {
		one, err := Alloc[byte](background, g.OnDevice(second), 1)
		if err == nil {
			one.Free()
		} else {
			second = Device{}
		}
	})
	if second.Type == CPU {
		t.Skip("there is one device")
	}
	onRanks(t, 2, func(t *testing.T, g *Group) {
		first := must(Alloc[float32](background, g.OnDevice(Device{Type: CUDA}), 100))
		other := must(Alloc[float32](background, g.OnDevice(second), 100))
		function(t, g, [2][]float32{first.Slice(), other.Slice()})
		check(t, g.Barrier(background))
		first.Free()
		other.Free()
	})
}

func TestCallsWithSlicesOnEachDeviceOfARank(t *testing.T) {
	onTwoDevices(t, func(t *testing.T, g *Group, memory [2][]float32) {
		give := func(one OnGPU[float32], value float32) {
			move(t, g.OnDevice(one.Device), one.Slice, g, []float32{value, -value})
		}
		has := func(one OnGPU[float32], value float32) {
			t.Helper()
			result := make([]float32, 2)
			move(t, g, result, g.OnDevice(one.Device), one.Slice)
			is(t, result, []float32{value, -value})
		}
		// Of the four buffers that all ranks have; they begin with 1, 2, 3 and 4.
		place := func(i int) int { return 2*g.Rank() + i }
		finished := func(work *Work, err error) error { return must(work, err).Wait(background) }
		start := func() []OnGPU[float32] {
			buffers := each(memory, 0)
			for i, one := range buffers {
				give(one, float32(place(i)+1))
			}
			return buffers
		}
		for _, mean := range []bool{false, true} {
			buffers, wanted := start(), float32(10)
			if mean {
				check(t, finished(AllReduceMultiGPUAsync(background, g, buffers, Avg)))
				wanted = 2.5
			} else {
				check(t, AllReduceMultiGPU(background, g, buffers, Sum))
			}
			for _, one := range buffers {
				has(one, wanted)
			}
		}
		for chosen := 0; chosen < 4; chosen++ {
			rank, tensor := chosen/2, chosen%2
			buffers := start()
			if chosen == 0 {
				check(t, finished(BroadcastMultiGPUAsync(background, g, buffers, rank, tensor)))
			} else {
				check(t, BroadcastMultiGPU(background, g, buffers, rank, tensor))
			}
			for _, one := range buffers {
				has(one, float32(chosen+1))
			}
			buffers = start()
			if chosen == 0 {
				check(t, finished(ReduceMultiGPUAsync(background, g, buffers, Sum, rank, tensor)))
			} else {
				check(t, ReduceMultiGPU(background, g, buffers, Sum, rank, tensor))
			}
			for i, one := range buffers {
				wanted := float32(place(i) + 1)
				if place(i) == chosen {
					wanted = 10
				}
				has(one, wanted)
			}
		}
		// Lists: first the four on the first GPU, then those on the second.
		own := each(memory, 0)
		var lists []OnGPU[float32]
		for i := range own {
			for j := 0; j < 4; j++ {
				lists = append(lists, each(memory, 2+2*j)[i])
			}
		}
		for _, async := range []bool{false, true} {
			start()
			if async {
				check(t, finished(AllGatherMultiGPUAsync(background, g, lists, own)))
			} else {
				check(t, AllGatherMultiGPU(background, g, lists, own))
			}
			for i, one := range lists {
				has(one, float32(i%4+1))
				give(one, float32(100*(i%4)+place(i/4))) // for the next call
			}
			if async {
				check(t, finished(ReduceScatterMultiGPUAsync(background, g, own, lists, Sum)))
			} else {
				check(t, ReduceScatterMultiGPU(background, g, own, lists, Sum))
			}
			for i, one := range own {
				has(one, float32(400*place(i)+6))
			}
		}
	})
}

func TestCallsWithSlicesOnEachDeviceHaveTheSameDevices(t *testing.T) {
	onTwoDevices(t, func(t *testing.T, g *Group, memory [2][]float32) {
		buffers := each(memory, 0)
		check(t, AllReduceMultiGPU(background, g, buffers, Sum))
		buffers[0], buffers[1] = buffers[1], buffers[0]
		namesIn(t, AllReduceMultiGPU(background, g, buffers, Sum), "all must have the same")
		buffers[0] = buffers[1]
		namesIn(t, AllReduceMultiGPU(background, g, buffers, Sum), "buffers[1] is on cuda:0, as is")
	})
}

// namesIn fails unless an argument is refused in words that have these.
func namesIn(t *testing.T, err error, words string) {
	t.Helper()
	failsWith(t, err, ErrInvalidArgument)
	if err != nil && !strings.Contains(err.Error(), words) {
		t.Errorf("%q does not say %s", err, words)
	}
}

func TestCallsWithSlicesOnEachDeviceRefuseOtherLists(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		cpu := []OnGPU[int]{{Slice: []int{1, 2}}, {Slice: []int{3}}}
		one, three := cpu[:1], []OnGPU[int]{cpu[0], cpu[0], cpu[0]}
		pair, none := []OnGPU[int]{cpu[0], cpu[0]}, []OnGPU[int]{}
		namesIn(t, BroadcastMultiGPU(background, g, one, 0, 0), "buffers[0] is on the CPU")
		namesIn(t, AllReduceMultiGPU(background, g, one, Sum), "buffers[0] is on the CPU")
		namesIn(t, ReduceMultiGPU(background, g, one, Sum, 0, 0), "buffers[0] is on the CPU")
		namesIn(t, AllGatherMultiGPU(background, g, pair, one), "inputs[0] is on the CPU")
		namesIn(t, ReduceScatterMultiGPU(background, g, one, pair, Sum), "outputs[0] is on the CPU")
		namesIn(t, AllReduceMultiGPU(background, g, none, Sum), "buffers is empty")
		namesIn(t, AllReduceMultiGPU[int](background, g, nil, Sum), "buffers is empty")
		namesIn(t, AllReduceMultiGPU(background, g, cpu, Sum), "buffers[1].count is 1, not 2")
		namesIn(t, AllReduceMultiGPU(background, g, []OnGPU[float32]{}, BXor), "buffers is empty")
		namesIn(t, BroadcastMultiGPU(background, g, one, 2, 0), ": src is 2")
		namesIn(t, BroadcastMultiGPU(background, g, one, 0, 1), ": srcTensor is 1, but each rank has")
		namesIn(t, ReduceMultiGPU(background, g, one, Sum, -1, 0), ": dst is -1")
		namesIn(t, ReduceMultiGPU(background, g, one, Sum, 0, 1<<40), ": dstTensor is")
		namesIn(t, AllGatherMultiGPU(background, g, three, one),
			"len(outputs) is 3, but must be 2: 1 * 1 GPUs * world size 2")
		namesIn(t, ReduceScatterMultiGPU(background, g, one, three, Sum), "len(inputs) is 3, but")
		onStream := g.OnDevice(Device{Type: CUDA, Stream: 1})
		namesIn(t, AllReduceMultiGPU(background, onStream, one, Sum), "Device.Stream must be 0")
		one[0].Device.Stream = 1
		namesIn(t, AllReduceMultiGPU(background, g, one, Sum), "buffers[0].Device.Stream is")
		_, err := AllGatherMultiGPUAsync(background, g, pair, pair)
		namesIn(t, err, "len(outputs) is 2, but must be 8: 2 * 2 GPUs * world size 2")
		check(t, Coalesce(background, g, func(together *Group) error {
			failsWith(t, AllReduceMultiGPU(background, together, pair, Sum), ErrInvalidHandle)
			return nil
		}))
		failsWith(t, AllReduceMultiGPU(background, nil, pair, Sum), ErrInvalidHandle)
		check(t, g.Barrier(background)) // the group goes on
	})
}

// onStreams runs a function with groups on a device, one of them on the default stream by each of
// its names; the works of plain begin behind what that has.
func onStreams(t *testing.T, function func(t *testing.T, g, gpu, plain *Group)) {
	if os.Getenv("TUTTI_CUDA_LIBRARY") == "" {
		t.Skip("TUTTI_CUDA_LIBRARY is not set")
	}
	const legacyStream = 1 // CU_STREAM_LEGACY
	for _, stream := range []uintptr{0, legacyStream} {
		onRanks(t, 2, func(t *testing.T, g *Group) {
			gpu := g.OnDevice(Device{Type: CUDA, Stream: stream})
			function(t, g, gpu, g.OnDevice(Device{Type: CUDA}))
		})
	}
}

func TestGradientsOnADeviceFollowItsStream(t *testing.T) {
	onStreams(t, func(t *testing.T, g, gpu, plain *Group) {
		buffer := must(Alloc[float32](background, gpu, 700))
		values, own, other := buffer.Slice()[:300], buffer.Slice()[300:600], buffer.Slice()[600:]
		on := func(slice []float32) []float32 {
			result := make([]float32, len(slice))
			move(t, g, result, plain, slice)
			return result
		}
		move(t, plain, values[299:], g, []float32{float32(g.Rank() + 5)})
		move(t, plain, other[99:], g, []float32{float32(g.Rank() + 5)})
		r := must(NewReducer(background, gpu, []Parameter{
			Param("weights", values), Param("bias", other[:2]), Param("nothing", []float32{}),
		}, &ReducerOptions{BucketCap: 1000, FirstBucketCap: 8}))
		is(t, on(values[298:]), []float32{0, 5})
		for pass := float32(1); pass < 4; pass++ {
			check(t, r.Backward(true, func() error {
				mine := pass * float32(g.Rank()+1)
				move(t, plain, own[298:], g, []float32{mine, -mine})
				place := must(Gradient[float32](r, 1))
				move(t, plain, place, g, []float32{mine, 4 * mine})
				check(t, MarkReadyFrom(r, 0, own))
				check(t, r.MarkReady(1))
				return r.MarkReady(2)
			}))
			is(t, on(own[297:]), []float32{0, 1.5 * pass, -1.5 * pass})
			is(t, on(must(Gradient[float32](r, 1))), []float32{1.5 * pass, 6 * pass})
			is(t, len(must(Gradient[float32](r, 2))), 0)
		}
		check(t, r.SyncBuffers(1, Param("means", other[2:]), Param("none", []float32{})))
		is(t, on(other[98:]), []float32{0, 6})
		check(t, r.Close())
		check(t, g.Barrier(background))
		buffer.Free()
	})
}

func TestBucketsOnADeviceFollowItsStream(t *testing.T) {
	onStreams(t, func(t *testing.T, g, gpu, plain *Group) {
		buffer := must(Alloc[float32](background, plain, 601))
		values, own := buffer.Slice()[:300], buffer.Slice()[301:]
		r := must(NewReducer(background, gpu, []Parameter{
			Param("weights", values), Param("bias", buffer.Slice()[300:301]),
		}, &ReducerOptions{NoInitialBroadcast: true, BucketCap: 1000, FirstBucketCap: 4}))
		for pass := 1; pass < 5; pass++ {
			hooked := pass > 2 // which adds up
			if pass == 3 {
				check(t, r.SetHook(func(its *Group, bucket *Bucket) error {
					is(t, bucket.Stream != 0, true)
					is(t, *its.device, Device{Type: CUDA, Stream: bucket.Stream})
					return AllReduce(background, its, must(Gradients[float32](bucket)), Sum)
				}))
			}
			wanted := []float32{float32(pass) * 1.5, float32(pass) * 15}
			if hooked {
				wanted = []float32{float32(pass) * 3, float32(pass) * 30}
			}
			mine := float32(pass * (g.Rank() + 1))
			check(t, r.Begin(true))
			move(t, plain, own[299:], g, []float32{mine})
			move(t, plain, must(Gradient[float32](r, 1)), g, []float32{10 * mine})
			check(t, r.MarkReady(1))
			check(t, MarkReadyFrom(r, 0, own))
			work := must(r.FinishAsync())
			for bucket := must(r.NextBucket()); bucket != nil; bucket = must(r.NextBucket()) {
				is(t, bucket.Stream, uintptr(0))
				for _, one := range bucket.Parameters {
					result := make([]float32, 1)
					last := must(Gradients[float32](bucket))[one.End-1 : one.End]
					move(t, g, result, plain, last)
					is(t, result[0], wanted[one.Index])
				}
			}
			if gpu.device.Stream != 0 {
				check(t, work.Synchronize(gpu.device.Stream))
			}
			check(t, work.Wait(background))
			result := make([]float32, 1)
			move(t, g, result, plain, own[299:])
			is(t, result[0], wanted[0])
		}
		check(t, r.Close())
		check(t, g.Barrier(background))
		buffer.Free()
	})
}

func TestAReducerOnTheCPURefusesAStreamOfADevice(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		cpu := g.OnDevice(Device{Type: CPU, Stream: 0x5000})
		_, err := NewReducer(background, cpu, []Parameter{Param("one", []float32{1})}, nil)
		failsWith(t, err, ErrInvalidArgument)
		if err == nil || !strings.Contains(err.Error(), "Device.Stream is") {
			t.Errorf("%v does not name the stream", err)
		}
	})
}
