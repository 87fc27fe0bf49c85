package tutti;

import static tutti.raw.RawConstants.*;

import java.lang.ref.Reference;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import tutti.raw.Memory;
import tutti.raw.Raw;

/** A device mesh: the ranks of a group in rows and columns of any number of dimensions, with a
 *  group along each of them. */
public final class Mesh extends Handle {
    /** The groups that were given out, by dimension; one object for each, since their calls may be
     *  gathered. Slices and flattened meshes share it. */
    private final Map<Object, Group> groups;

    private Mesh(long value, Map<Object, Group> groups) {
        super("mesh", value, Raw::tutti_mesh_release);
        this.groups = groups;
    }

    private interface Maker {
        int make(Frame frame, long out);
    }

    private static Mesh make(Map<Object, Group> groups, Maker maker) {
        try (Frame frame = Frame.open()) {
            long out = frame.slot();
            frame.check(maker.make(frame, out));
            return new Mesh(frame.getLong(out), groups);
        }
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
        return init(Tutti.world(), "cpu", shape, dimNames, null);
    }

    /** Lays the first ranks of a group out as a mesh, row by row (the last dimension varies
     *  fastest); every rank of the group calls it with the same arguments, also those that it
     *  has no place for.
     *  @param deviceType  "cpu"
     *  @param shape       lengths, together at most the number of ranks
     *  @param dimNames    one for each dimension; null: no names
     *  @param options     of the groups along the dimensions; null: defaults */
    public static Mesh init(Group group, String deviceType, int[] shape, String[] dimNames,
                            GroupOptions options) {
        sameCount(dimNames, shape.length);
        try {
            return make(new ConcurrentHashMap<>(), (frame, out) -> Raw.tutti_init_device_mesh(
                    group.core.handle(), frame.text("deviceType", deviceType), frame.ints(shape),
                    shape.length, frame.strings("dimNames", list(dimNames)),
                    GroupOptions.struct(frame, options), out, frame.error()));
        } finally {
            Reference.reachabilityFence(group);
        }
    }

    /** Makes a mesh of groups that are there already; nothing is sent to other ranks.
     *  @param groups    one for each dimension: the ranks that differ from this one in it alone
     *  @param ranks     the global ranks of the mesh, row by row; null if there is one dimension
     *  @param shape     lengths; null if ranks is
     *  @param dimNames  one for each dimension; null: no names */
    public static Mesh fromGroup(List<Group> groups, String deviceType, int[] ranks, int[] shape,
                                 String... dimNames) {
        sameCount(dimNames, groups.size());
        if ((ranks == null) != (shape == null)) {
            throw TuttiException.invalid("shape", "ranks and shape are given together, or neither");
        }
        checkSizes(ranks, shape, groups.size());
        Map<Object, Group> known = new ConcurrentHashMap<>();
        boolean named = list(dimNames) != null;
        for (int i = 0; i < groups.size(); i++) {
            known.put(named ? (Object) dimNames[i] : (Object) i, groups.get(i));
        }
        try {
            return make(known, (frame, out) -> Raw.tutti_mesh_from_group(
                    handles(frame, groups), frame.text("deviceType", deviceType),
                    frame.ints(ranks), frame.ints(shape), groups.size(),
                    frame.strings("dimNames", list(dimNames)), out, frame.error()));
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

    private static long handles(Frame frame, List<Group> groups) {
        long[] handles = new long[groups.size()];
        for (int i = 0; i < handles.length; i++) handles[i] = groups.get(i).core.handle();
        return frame.longs(handles);
    }

    private interface Question<T> {
        T ask(Frame frame, long mesh);
    }

    private <T> T ask(Question<T> question) {
        try (Frame frame = Frame.open()) {
            return question.ask(frame, handle());
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /** The group along the only dimension. */
    public Group getGroup() {
        return group(-1, null);
    }

    /** The group along a dimension, by its number: the ranks that differ from this one in it alone.
     *  The same object each time; closing it leaves the group to the mesh. */
    public Group getGroup(int dim) {
        return group(dim, null);
    }

    /** The group along a dimension, by its name, or by one that {@link #flatten} gave. */
    public Group getGroup(String dimName) {
        if (dimName == null) throw TuttiException.invalid("dimName", "null");
        return group(-1, dimName);
    }

    private synchronized Group group(int dim, String dimName) {
        return ask((frame, mesh) -> {
            long out = frame.slot();
            frame.check(Raw.tutti_mesh_get_group(mesh, dim, frame.string("dimName", dimName), out,
                                                 frame.error()));
            Group group = Group.shared(frame.getLong(out));
            int number = dimName == null ? Math.max(0, dim) : -1;
            String name = dimName == null ? dimName(number) : dimName;
            return groups.merge(name == null ? (Object) number : name, group,
                                (known, same) -> known.isClosed() ? same : known);
        });
    }

    /** The groups along all dimensions. */
    public List<Group> getAllGroups() {
        List<Group> all = new ArrayList<>();
        for (int dim = 0; dim < ndim(); dim++) all.add(getGroup(dim));
        return all;
    }

    /** This rank's place along the only dimension. */
    public int getLocalRank() {
        return localRank(-1, null);
    }

    /** This rank's place along a dimension; -1 if it is not in the mesh. */
    public int getLocalRank(int dim) {
        return localRank(dim, null);
    }

    /** This rank's place along a dimension; -1 if it is not in the mesh. */
    public int getLocalRank(String dimName) {
        if (dimName == null) throw TuttiException.invalid("dimName", "null");
        return localRank(-1, dimName);
    }

    private int localRank(int dim, String dimName) {
        return ask((frame, mesh) -> {
            long out = frame.slot();
            frame.check(Raw.tutti_mesh_get_local_rank(mesh, dim, frame.string("dimName", dimName),
                                                      out, frame.error()));
            return frame.getInt(out);
        });
    }

    private interface List32 {
        int read(long mesh, long out, long count, long error);
    }

    private int[] ints(int count, List32 reader) {
        return ask((frame, mesh) -> {
            long out = frame.take(4L * count);
            frame.check(reader.read(mesh, out, count, frame.error()));
            return frame.getInts(out, count);
        });
    }

    /** This rank's place along all dimensions; null if it is not in the mesh. */
    public int[] getCoordinate() {
        int[] place = ints(ndim(), Raw::tutti_mesh_get_coordinate);
        return place[0] < 0 ? null : place;
    }

    /** The global rank of this process, in the mesh or not. */
    public int getRank() {
        return ask((frame, mesh) -> Raw.tutti_mesh_get_rank(mesh));
    }

    /** How many ranks the mesh has. */
    public int size() {
        return ask((frame, mesh) -> Raw.tutti_mesh_size(mesh, -1));
    }

    /** The length of a dimension; -1 if there is none of this number. */
    public int size(int dim) {
        return dim < 0 ? -1 : ask((frame, mesh) -> Raw.tutti_mesh_size(mesh, dim));
    }

    /** How many dimensions there are. */
    public int ndim() {
        return ask((frame, mesh) -> Raw.tutti_mesh_ndim(mesh));
    }

    /** The length of every dimension. */
    public int[] shape() {
        return ints(ndim(), Raw::tutti_mesh_shape);
    }

    /** The global ranks of the mesh, row by row (torch's mesh). */
    public int[] ranks() {
        return ints(size(), Raw::tutti_mesh_ranks);
    }

    /** The name of a dimension; null if it has none. */
    public String dimName(int dim) {
        return ask((frame, mesh) -> Memory.string(Raw.tutti_mesh_dim_name(mesh, dim)));
    }

    /** The part of the mesh that this rank sees along some dimensions (torch's mesh["dp", "tp"]).
     *  @param dimNames  names of dimensions in their order here, or one that flatten gave */
    public Mesh slice(String... dimNames) {
        List<String> names = Arrays.asList(dimNames);
        return ask((frame, mesh) -> make(groups, (inner, out) -> Raw.tutti_mesh_slice(
                mesh, inner.strings("dimNames", names), names.size(), out, inner.error())));
    }

    /** The mesh in one dimension, with a group of all its ranks; all of them call it. Afterwards
     *  the mesh it began with knows the new dimension by its name.
     *  @param dimName  null: the names of the dimensions, joined by "_"
     *  @param options  null: defaults */
    public Mesh flatten(String dimName, GroupOptions options) {
        return ask((frame, mesh) -> make(groups, (inner, out) -> Raw.tutti_mesh_flatten(
                mesh, inner.string("dimName", dimName), GroupOptions.struct(inner, options), out,
                inner.error())));
    }

    /** Gives the mesh back; its groups end in the background once nothing else holds them. */
    @Override
    public void close() {
        release();
    }
}
