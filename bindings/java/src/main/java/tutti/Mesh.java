package tutti;

import java.lang.ref.Reference;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import tutti.raw.Memory;
import tutti.raw.Raw;

/** A device mesh: the ranks of a group in rows and columns of any number of dimensions, with a
 *  group along each of them. */
public final class Mesh extends Handle {
    private Mesh(long value) {
        super("mesh", value, Raw::tutti_mesh_release);
    }

    private static Collection<String> list(String[] names) {
        return names == null || names.length == 0 ? null : Arrays.asList(names);
    }

    private static void sameCount(String[] names, int dimensions) {
        if (names != null && names.length != 0 && names.length != dimensions) {
            throw TuttiException.invalid("dimNames", "there are " + names.length + " of them for "
                                         + dimensions + " dimensions");
        }
    }

    /** Lays the ranks of the default group out as a mesh, which makes that group, by "env://", if
     *  it is not there yet (torch's init_device_mesh).
     *  @param shape     lengths, together at most the number of ranks
     *  @param dimNames  one for each dimension, or none at all */
    public static Mesh init(int[] shape, String... dimNames) {
        return init(Tutti.world(), DeviceType.CPU, shape, dimNames, null);
    }

    /** Lays the first ranks of a group out as a mesh, row by row (the last dimension varies
     *  fastest); every rank of the group calls it with the same arguments, also those that it
     *  has no place for.
     *  @param shape       lengths, together at most the number of ranks
     *  @param dimNames    one for each dimension; null: no names
     *  @param options     of the groups along the dimensions; null: defaults */
    public static Mesh init(Group group, DeviceType deviceType, int[] shape, String[] dimNames,
                            GroupOptions options) {
        sameCount(dimNames, shape.length);
        return new Mesh(group.core.number((arena, handle, out) -> Raw.tutti_init_device_mesh(
                handle, lengths(arena, shape), shape.length, names(arena, dimNames),
                deviceType.code(), GroupOptions.struct(arena, options), out, arena.error())));
    }

    /** Makes a mesh of any layout (torch's DeviceMesh): a rank's place along a dimension is its
     *  rank in that dimension's group. Every rank of the group calls it with the same arguments.
     *  @param ranks     ranks of the group, row by row, in any order
     *  @param shape     lengths
     *  @param dimNames  one for each dimension; null: no names
     *  @param options   of the groups along the dimensions; null: defaults */
    public static Mesh create(Group group, DeviceType deviceType, int[] ranks, int[] shape,
                              String[] dimNames, GroupOptions options) {
        sameCount(dimNames, shape.length);
        return new Mesh(group.core.number((arena, handle, out) -> Raw.tutti_mesh_create(
                handle, arena.ints(ranks), ranks.length, lengths(arena, shape), shape.length,
                names(arena, dimNames), deviceType.code(), GroupOptions.struct(arena, options), out,
                arena.error())));
    }

    private static long names(Arena arena, String[] dimNames) {
        return arena.strings("dimNames", list(dimNames));
    }

    private static long lengths(Arena arena, int[] shape) {
        return shape == null ? 0 : arena.longs(Arrays.stream(shape).asLongStream().toArray());
    }

    /** {@link #fromGroup(List, DeviceType, int[], int[], String[], GroupOptions)} with default
     *  options. */
    public static Mesh fromGroup(List<Group> groups, DeviceType deviceType, int[] ranks,
                                 int[] shape, String... dimNames) {
        return fromGroup(groups, deviceType, ranks, shape, dimNames, null);
    }

    /** Makes a mesh of existing groups; nothing is sent to other ranks.
     *  @param groups      one for each dimension: the ranks that differ from this one in it alone
     *  @param deviceType  where the data of the groups are
     *  @param ranks       the global ranks of the mesh, row by row; null if there is one dimension
     *  @param shape       lengths; null if ranks is
     *  @param dimNames    one for each dimension; null: no names
     *  @param options     of what {@link #flatten} makes; null: defaults */
    public static Mesh fromGroup(List<Group> groups, DeviceType deviceType, int[] ranks,
                                 int[] shape, String[] dimNames, GroupOptions options) {
        sameCount(dimNames, groups.size());
        if ((ranks == null) != (shape == null)) {
            throw TuttiException.invalid("shape", "ranks and shape are given together, or neither");
        }
        checkSizes(ranks, shape, groups.size());
        try {
            return new Mesh(make((arena, out) -> Raw.tutti_mesh_from_group(
                    handles(arena, groups), arena.ints(ranks), lengths(arena, shape),
                    groups.size(), names(arena, dimNames), deviceType.code(),
                    GroupOptions.struct(arena, options), out, arena.error())));
        } finally {
            Reference.reachabilityFence(groups);
        }
    }

    private static void checkSizes(int[] ranks, int[] shape, int dimensions) {
        if (shape == null) return;
        if (shape.length != dimensions) {
            throw TuttiException.invalid("shape", "has " + shape.length + " lengths for "
                                         + dimensions + " groups");
        }
        long all = 1;
        for (int length : shape) all = length < 0 || all > ranks.length ? -1 : all * length;
        if (all != ranks.length) {
            throw TuttiException.invalid("ranks", "there are " + ranks.length
                                         + " of them for the shape " + Arrays.toString(shape));
        }
    }

    private static long handles(Arena arena, List<Group> groups) {
        long[] handles = new long[groups.size()];
        for (int i = 0; i < handles.length; i++) handles[i] = groups.get(i).core.handle();
        return arena.longs(handles);
    }

    /** The group along the only dimension. */
    public Group getGroup() {
        return group(-1);
    }

    /** The group along a dimension, by its number: the ranks that differ from this one in it alone.
     *  Closing it leaves the group to the mesh. */
    public Group getGroup(int dim) {
        return group(dim);
    }

    /** The group along a dimension, by its name, or by one that {@link #flatten} gave. */
    public Group getGroup(String dimName) {
        return group(findDim(dimName));
    }

    private Group group(int dim) {
        return Group.shared(number((arena, mesh, out) -> Raw.tutti_mesh_get_group(
                mesh, dim, out, arena.error())));
    }

    /** The number of the dimension of a name, also of one that {@link #flatten} gave. */
    public int findDim(String dimName) {
        return (int) number((arena, mesh, out) -> Raw.tutti_mesh_find_dim(
                mesh, arena.text("dimName", dimName), out, arena.error()));
    }

    /** The device type that the mesh was made with. */
    public DeviceType deviceType() {
        return DeviceType.of(ask((arena, mesh) -> Raw.tutti_mesh_device_type(mesh)));
    }

    /** The groups along all dimensions. */
    public List<Group> getAllGroups() {
        List<Group> all = new ArrayList<>();
        for (int dim = 0; dim < ndim(); dim++) all.add(getGroup(dim));
        return all;
    }

    /** This rank's place along the only dimension. */
    public int getLocalRank() {
        return localRank(-1);
    }

    /** This rank's place along a dimension; -1 if it is not in the mesh. */
    public int getLocalRank(int dim) {
        return localRank(dim);
    }

    /** This rank's place along a dimension; -1 if it is not in the mesh. */
    public int getLocalRank(String dimName) {
        return localRank(findDim(dimName));
    }

    private int localRank(int dim) {
        return (int) number((arena, mesh, out) -> Raw.tutti_mesh_get_local_rank(
                mesh, dim, out, arena.error()));
    }

    private interface List32 {
        int read(long mesh, long out, long count, long error);
    }

    private int[] ints(int count, List32 reader) {
        return ask((arena, mesh) -> {
            long out = arena.take(4L * count);
            arena.check(reader.read(mesh, out, count, arena.error()));
            return arena.getInts(out, count);
        });
    }

    /** This rank's place along all dimensions; null if it is not in the mesh. */
    public int[] getCoordinate() {
        int[] place = ints(ndim(), Raw::tutti_mesh_get_coordinate);
        return place[0] < 0 ? null : place;
    }

    /** The global rank of this process, in the mesh or not. */
    public int getRank() {
        return ask((arena, mesh) -> Raw.tutti_mesh_get_rank(mesh));
    }

    /** How many ranks the mesh has. */
    public int size() {
        return ask((arena, mesh) -> (int) Raw.tutti_mesh_size(mesh, -1));
    }

    /** The length of a dimension; -1 if there is none of this number. */
    public int size(int dim) {
        return dim < 0 ? -1 : ask((arena, mesh) -> (int) Raw.tutti_mesh_size(mesh, dim));
    }

    /** How many dimensions there are. */
    public int ndim() {
        return ask((arena, mesh) -> Raw.tutti_mesh_ndim(mesh));
    }

    /** The length of every dimension. */
    public int[] shape() {
        int count = ndim();
        return ask((arena, mesh) -> {
            long out = arena.take(8L * count);
            arena.check(Raw.tutti_mesh_shape(mesh, out, count, arena.error()));
            int[] shape = new int[count];
            for (int i = 0; i < count; i++) shape[i] = (int) arena.getLong(out + 8L * i);
            return shape;
        });
    }

    /** The global ranks of the mesh, row by row (torch's mesh). */
    public int[] ranks() {
        return ints(size(), Raw::tutti_mesh_ranks);
    }

    /** The name of a dimension; null if it has none. */
    public String dimName(int dim) {
        return ask((arena, mesh) -> Memory.string(Raw.tutti_mesh_dim_name(mesh, dim)));
    }

    /** The part of the mesh that this rank sees along some dimensions (torch's mesh["dp", "tp"]).
     *  @param dimNames  names of dimensions in their order here, or one that flatten gave */
    public Mesh slice(String... dimNames) {
        List<String> names = Arrays.asList(dimNames);
        return new Mesh(number((arena, mesh, out) -> Raw.tutti_mesh_slice(
                mesh, arena.strings("dimNames", names), names.size(), out, arena.error())));
    }

    /** The mesh in one dimension, with a group of all its ranks; all of them call it. Afterwards
     *  the mesh it began with knows the new dimension by its name.
     *  @param dimName  null: the names of the dimensions, joined by "_"
     *  @param options  null: defaults */
    public Mesh flatten(String dimName, GroupOptions options) {
        return new Mesh(number((arena, mesh, out) -> Raw.tutti_mesh_flatten(
                mesh, arena.string("dimName", dimName), GroupOptions.struct(arena, options), out,
                arena.error())));
    }

    /** Gives the mesh back; its groups end in the background once nothing else holds them. */
    @Override
    public void close() {
        release();
    }
}
