package tutti;

import static tutti.raw.RawConstants.*;

import java.lang.ref.Reference;
import java.time.Duration;
import tutti.raw.Callbacks;
import tutti.raw.Memory;
import tutti.raw.Raw;

/** A group of ranks: its collectives, its messages, and the groups that are made from it. Ranks in
 *  calls are ranks of the group. Each operation has a form that returns when it is done and one
 *  that returns a {@link Work} at once. Any thread may call; collectives take effect in the order
 *  in which they arrive, which must be the same on all ranks. */
public final class Group extends ByteStrings {
    private Group(Core core, long timeoutMs, ObjectOptions objectOptions) {
        super(core, timeoutMs, objectOptions);
    }

    Group(Core core) {
        this(core, 0, null);
    }

    /** A group that the library has made; closing it ends it. */
    static Group made(long value) {
        return new Group(new Core(value, true));
    }

    /** Another handle of a group that somebody else ends. */
    static Group shared(long value) {
        return new Group(new Core(value, false));
    }

    /** Makes a group with no global state: several may live in one process, also several ranks of
     *  one group, as threads.
     *  @param backend    "gloo", "shm", "hierarchy", "loopback" (ranks that are threads); null: the
     *                    best one for where the ranks are
     *  @param store      where they meet; one set of ranks, one use: give further groups a
     *                    {@link PrefixStore}
     *  @param rank       0 to worldSize - 1
     *  @param options    null: defaults */
    public static Group create(String backend, Store store, int rank, int worldSize,
                               GroupOptions options) {
        try (Frame frame = Frame.open()) {
            long out = frame.slot();
            frame.check(Raw.tutti_group_create(
                    frame.string("backend", backend), store.handle(), rank, worldSize,
                    GroupOptions.struct(frame, options), out, frame.error()));
            return made(frame.getLong(out));
        } finally {
            Reference.reachabilityFence(store);
        }
    }

    /** An all-gather of the program's own means, with which ranks meet. */
    @FunctionalInterface
    public interface AllGather {
        /** Gives the input and receives those of all ranks, one after the other in rank order. What
         *  it throws ends the making of the group. */
        byte[] allGather(byte[] input) throws Exception;
    }

    /** Makes a group as {@link #create} does, without a store.
     *  @param allGather  called once, by this thread, before this returns */
    public static Group createWithAllGather(String backend, AllGather allGather, int rank,
                                            int worldSize, GroupOptions options) {
        Throwable[] thrown = new Throwable[1];
        long user = Callbacks.register((Callbacks.AllGather) (input, output, size) -> {
            try {
                byte[] all = allGather.allGather(Memory.bytes(input, size));
                if (all.length != size * worldSize) {
                    throw TuttiException.invalid("allGather", "returned " + all.length
                        + " bytes, not " + worldSize + " times " + size);
                }
                Memory.put(all, 0, all.length, output);
                return TUTTI_OK;
            } catch (Throwable failure) {
                thrown[0] = failure;
                return TUTTI_ERR_BACKEND;
            }
        });
        try (Frame frame = Frame.open()) {
            long out = frame.slot();
            int status = Raw.tutti_group_create_with_allgather(
                    frame.string("backend", backend), Callbacks.allGatherFunction(), user, rank,
                    worldSize, GroupOptions.struct(frame, options), out, frame.error());
            if (status != TUTTI_OK) {
                throw (TuttiException) frame.failure(status).initCause(thrown[0]);
            }
            return made(frame.getLong(out));
        } finally {
            Callbacks.remove(user);
        }
    }

    /** The same group, whose operations through this object have a timeout of their own. Closing
     *  either closes both.
     *  @param timeout  null: the group's; {@link Tutti#NO_TIMEOUT}: none */
    public Group withTimeout(Duration timeout) {
        return new Group(core, Frame.timeout(timeout), objectOptions);
    }

    /** The same group, whose objects through this object are sent and read with these options.
     *  @param options  null: defaults */
    public Group withObjectOptions(ObjectOptions options) {
        return new Group(core, timeoutMs, options);
    }

    /** Makes a group of some of the ranks of this one, numbered in the order of their ranks here;
     *  every rank of this group calls it with the same arguments.
     *  @param ranks        of this group, each once; null: all of them
     *  @param backend      null: that of this group
     *  @param description  what errors call the group; null: this one's name and a number
     *  @param options      null: defaults
     *  @return the group; on a rank that is not in it, one that is no member */
    public Group newGroup(int[] ranks, String backend, String description,
                          NewGroupOptions options) {
        try (Frame frame = Frame.open()) {
            long out = frame.slot();
            frame.check(Raw.tutti_new_group(
                    core.handle(), frame.ints(ranks), ranks == null ? 0 : ranks.length,
                    frame.string("backend", backend), frame.string("description", description),
                    NewGroupOptions.struct(frame, options), out, frame.error()));
            return made(frame.getLong(out));
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /** {@link #newGroup(int[], String, String, NewGroupOptions)} with its defaults. */
    public Group newGroup(int... ranks) {
        return newGroup(ranks, null, null, null);
    }

    /** Makes several groups that share no rank, in one step; every rank of this group calls it with
     *  the same arguments and receives the one it is in.
     *  @param ranks        for each new group the ranks of this group that are in it
     *  @param description  what errors call the groups; null: this one's name and a number
     *  @param options      null: defaults */
    public Group split(int[][] ranks, String description, NewGroupOptions options) {
        int[] sizes = new int[ranks.length];
        for (int i = 0; i < sizes.length; i++) sizes[i] = ranks[i].length;
        int[] all = java.util.Arrays.stream(ranks).flatMapToInt(java.util.Arrays::stream).toArray();
        try (Frame frame = Frame.open()) {
            long out = frame.slot();
            frame.check(Raw.tutti_split_group(
                    core.handle(), frame.ints(all), frame.ints(sizes), sizes.length,
                    frame.string("description", description),
                    NewGroupOptions.struct(frame, options), out, frame.error()));
            return made(frame.getLong(out));
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /** Gives every rank memory that the others of its host read where it is; every rank of this
     *  group calls it. The memory is zero, aligned to 4096 bytes, and there until it is closed,
     *  also after the group's end.
     *  @param bytes  how many; may differ between ranks, and be 0 */
    public SharedMemory alloc(int bytes) {
        try (Frame frame = Frame.open()) {
            long out = frame.slot();
            frame.check(Raw.tutti_alloc(core.handle(), Call.notNegative("bytes", bytes), out,
                                        frame.error()));
            return new SharedMemory(frame.getLong(out), bytes);
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    private interface Question {
        int ask(long group);
    }

    private int ask(Question question) {
        int answer = question.ask(core.handle());
        Reference.reachabilityFence(this);
        return answer;
    }

    /** This process's rank; -1 if it is not in the group, or the group is not there any more. */
    public int rank() {
        return ask(Raw::tutti_get_rank);
    }

    /** How many ranks the group has; -1 if this process is not in it. */
    public int size() {
        return ask(Raw::tutti_get_world_size);
    }

    /** Whether this process is in the group, and the group is there. */
    public boolean isMember() {
        return rank() >= 0;
    }

    /** The name of the backend, also where it was chosen; null if there is no group. */
    public String backend() {
        long name = Raw.tutti_get_backend(core.handle());
        Reference.reachabilityFence(this);
        return Memory.string(name);
    }

    /** Whether sums are exact, see {@link GroupOptions#reproducible}. */
    public boolean isReproducible() {
        return ask(Raw::tutti_is_reproducible) == 1;
    }

    /** The rank here of a rank among all; -1 if it is not a member. */
    public int groupRank(int globalRank) {
        return ask(group -> Raw.tutti_get_group_rank(group, globalRank));
    }

    /** The rank among all of a rank here; -1 if there is no such rank. */
    public int globalRank(int groupRank) {
        return ask(group -> Raw.tutti_get_global_rank(group, groupRank));
    }

    /** The ranks among all of the members, in the order of their ranks here. */
    public int[] processGroupRanks() {
        int count = Math.max(0, size());
        try (Frame frame = Frame.open()) {
            long out = frame.take(4L * count);
            frame.check(Raw.tutti_get_process_group_ranks(core.handle(), out, count,
                                                          frame.error()));
            return frame.getInts(out, count);
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /** Sets the timeout of the group's operations from the next one on; each rank sets its own.
     *  @param timeout  above 0, or {@link Tutti#NO_TIMEOUT} */
    public void setTimeout(Duration timeout) {
        try (Frame frame = Frame.open()) {
            frame.check(Raw.tutti_set_timeout(core.handle(), Frame.timeout(timeout),
                                              frame.error()));
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /** For people, for instance "rank 0 of 4 (gloo)". */
    @Override
    public String toString() {
        if (isClosed()) return "closed group";
        return isMember() ? "rank " + rank() + " of " + size() + " (" + backend() + ")"
            : "group without this process";
    }

    /** Ends the group: finished sends arrive, operations that still run fail as aborted. Every rank
     *  calls it; none waits for the others. The default group, and one from {@link #create}, take
     *  the groups with them that were made from them. */
    public void destroy() {
        core.destroy();
    }

    /** Whether close has been called. */
    public boolean isClosed() {
        return core.isClosed();
    }

    /** Ends the group as {@link #destroy} does, unless it ended before, and gives the handle back;
     *  a group that a {@link Mesh} gave goes on until the mesh ends. What nobody closes the garbage
     *  collector ends in the background. */
    @Override
    public void close() {
        core.close();
    }
}
