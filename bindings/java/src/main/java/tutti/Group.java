package tutti;

import static tutti.raw.RawConstants.*;

import java.lang.ref.Reference;
import java.time.Duration;
import java.util.List;
import tutti.raw.Callbacks;
import tutti.raw.Memory;
import tutti.raw.Raw;

/** A group of ranks: its collectives, its messages, and the groups that are made from it. Ranks in
 *  calls are ranks of the group. Each operation has a form that returns when it is done and one
 *  that returns a {@link Work} at once. Any thread may call; collectives take effect in the order
 *  in which they arrive, which must be the same on all ranks. */
public final class Group extends AsyncCalls {
    private Group(Core core, long timeoutMs, long stream, byte[] tagName,
                  ObjectOptions objectOptions) {
        super(core, timeoutMs, stream, tagName, objectOptions);
    }

    Group(Core core) {
        this(core, 0, 0, null, null);
    }

    /** A group that the library has made; closing it ends it. */
    static Group made(long value) {
        return new Group(new Core(value, true));
    }

    /** Another handle of a group, which closing it does not end. */
    static Group shared(long value) {
        return new Group(new Core(value, false));
    }

    /** Makes a group with no global state: several may live in one process, also several ranks of
     *  one group, as threads.
     *  @param backend    "tcp", "gloo", "shm", "hierarchy", "loopback" (ranks that are threads); null:
     *                    the best one for where the ranks are
     *  @param store      where they meet; one set of ranks, one use: give further groups a
     *                    {@link PrefixStore}
     *  @param rank       0 to worldSize - 1
     *  @param options    null: defaults */
    public static Group create(String backend, Store store, int rank, int worldSize,
                               GroupOptions options) {
        return made(store.number((arena, handle, out) -> Raw.tutti_group_create(
                arena.string("backend", backend), handle, GroupOptions.description(arena, options),
                rank, worldSize, GroupOptions.struct(arena, options), out, arena.error())));
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
        long user = Callbacks.register((Callbacks.AllGather) (input, output, size, error) -> {
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
                return Callbacks.tell(error, failure);
            }
        });
        try (Arena arena = Arena.open()) {
            long out = arena.slot();
            int status = Raw.tutti_group_create_with_allgather(
                    arena.string("backend", backend), Callbacks.allGatherFunction(), user,
                    GroupOptions.description(arena, options), rank, worldSize,
                    GroupOptions.struct(arena, options), out, arena.error());
            if (status != TUTTI_OK) {
                throw (TuttiException) arena.failure(status).initCause(thrown[0]);
            }
            return made(arena.getLong(out));
        } finally {
            Callbacks.remove(user);
        }
    }

    /** The same group, whose operations through this object have a timeout of their own. Closing
     *  either closes both.
     *  @param timeout  null: the group's; {@link Tutti#NO_TIMEOUT}: none */
    public Group withTimeout(Duration timeout) {
        return new Group(core, Arena.timeout(timeout), stream, tagName, objectOptions);
    }

    /** The same group, whose collectives and messages through this object are enqueued on a stream
     *  of the device that their tensors are on: calls return when they are enqueued, and what is
     *  enqueued on it later finds their results; works begin behind what is enqueued on it.
     *  Closing either closes both. Calls with memory of the CPU are refused.
     *  @param stream  for instance a cudaStream_t or CUstream; 0: none, calls return when they are
     *                 done */
    public Group withStream(long stream) {
        return new Group(core, timeoutMs, stream, tagName, objectOptions);
    }

    /** The same group, whose collectives and messages through this object have a name: errors,
     *  hooks, traces and the flight recorder show it, which keeps its first 32 bytes. Closing
     *  either closes both.
     *  @param tagName  null: none */
    public Group withTagName(String tagName) {
        byte[] named = tagName == null ? null : Arena.utf8("tagName", tagName);
        return new Group(core, timeoutMs, stream, named, objectOptions);
    }

    /** The same group, whose objects through this object are sent and read with these options.
     *  @param options  null: defaults */
    public Group withObjectOptions(ObjectOptions options) {
        return new Group(core, timeoutMs, stream, tagName, options);
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
        return made(core.number((arena, group, out) -> Raw.tutti_new_group(
                group, arena.ints(ranks), ranks == null ? 0 : ranks.length,
                arena.string("backend", backend), arena.string("description", description),
                NewGroupOptions.struct(arena, options), out, arena.error())));
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
        long[] sizes = new long[ranks.length];
        for (int i = 0; i < sizes.length; i++) sizes[i] = ranks[i].length;
        int[] all = java.util.Arrays.stream(ranks).flatMapToInt(java.util.Arrays::stream).toArray();
        return made(core.number((arena, group, out) -> Raw.tutti_split_group(
                group, arena.ints(all), all.length, arena.longs(sizes), sizes.length,
                arena.string("description", description), NewGroupOptions.struct(arena, options),
                out, arena.error())));
    }

    /** Makes a group of those ranks of this one that are alive, whether or not it has failed, and
     *  without a store; ranks may also die during the call. Every rank that is alive and not
     *  excluded calls it. All get the same group, or all get an error and may call again. The ranks
     *  keep their order. Afterwards calls on this group fail with {@link Status#ABORTED}, on the
     *  excluded ranks as well. If it was made from another group, close it any time; if it is a first
     *  one, the new group belongs to it, so close it last. The default group is another one
     *  afterwards: each object of it goes on to work, with a new rank and size.
     *  @param ranksToExclude  of this group, which shall not be members though they may be alive,
     *                         the same on all ranks that call; null: none. Ranks that died or left
     *                         are excluded anyway
     *  @param description     what errors call the group; null: this one's name and the new size
     *  @param options         null: defaults
     *  @return the new group; that of {@link Tutti#world} if this is the default group */
    public Group shrink(int[] ranksToExclude, String description, ShrinkOptions options) {
        boolean isWorld = core == Core.WORLD;
        long made = core.number((arena, group, out) -> Raw.tutti_shrink_group(
                group, arena.ints(ranksToExclude),
                ranksToExclude == null ? 0 : ranksToExclude.length, ShrinkOptions.flags(options),
                arena.string("description", description), ShrinkOptions.struct(arena, options),
                isWorld ? 0 : out, arena.error()));
        return isWorld ? new Group(core) : made(made);
    }

    /** {@link #shrink(int[], String, ShrinkOptions)} with its defaults. */
    public Group shrink(int... ranksToExclude) {
        return shrink(ranksToExclude, null, null);
    }

    /** Makes a group of the processes whose handles are listed: those that are left of an older group,
     *  and new ones. So a group shrinks, grows or replaces its dead in one call, without a store. Each
     *  listed process makes the call with the same list, backend and reproducibility; it returns when
     *  all have. If it fails, the older group is as before: call again with a new id. Afterwards calls
     *  on that fail with {@link Status#ABORTED}; it is still to be closed. The default group is another
     *  one afterwards: each object of it goes on to work, with a new rank and size.
     *  @param before   the group that is replaced; null: none; {@link Tutti#world}: the new group is
     *                  the default group, whether or not this process had one
     *  @param id       a number with which none of the listed processes has called before
     *  @param handles  texts of {@link Tutti#reconfigureHandle}, in the order of the new ranks; each
     *                  process once, also this one
     *  @param backend  as in {@link Tutti#initProcessGroup}
     *  @param options  null: defaults
     *  @return the new group; that of {@link Tutti#world} if this is the default group */
    public static Group reconfigure(Group before, long id, List<String> handles, String backend,
                                    GroupOptions options) {
        Handle.Question call = (arena, group, out) -> Raw.tutti_group_reconfigure(
                group, id, arena.strings("handles", handles), handles == null ? 0 : handles.size(),
                arena.string("backend", backend), GroupOptions.description(arena, options),
                GroupOptions.struct(arena, options), group == GROUP_WORLD ? 0 : out, arena.error());
        if (before == null) {
            return made(Handle.make((arena, out) -> call.ask(arena, GROUP_NON_MEMBER, out)));
        }
        long made = before.core.number(call);
        return before.core == Core.WORLD ? Tutti.world() : made(made);
    }

    /** Agrees on a value among the ranks of this group that are alive, for instance whether a step
     *  has succeeded everywhere. It works whether or not the group has failed; ranks may also die
     *  during the call, and the flags of such a rank may count. Every rank that is alive calls it,
     *  and all get the same. The timeout is that of {@link #withTimeout}.
     *  @param flags  the bits that this rank sets
     *  @return the bits that all ranks have set */
    public long agree(long flags) {
        return core.number((arena, group, out) -> {
            arena.putLong(out, flags);
            return Raw.tutti_group_agree(group, out, timeoutMs, arena.error());
        });
    }

    /** Ends the group on all its ranks: running operations end, and later ones fail, with
     *  {@link Status#ABORTED} and the reason. So a rank that has found that the group cannot go on
     *  frees the others from waiting for it. The group can then be shrunk. Does nothing if the group
     *  has failed before.
     *  @param reason  for the others' errors; null: none */
    public void revoke(String reason) {
        core.act((arena, group) -> Raw.tutti_group_revoke(
                group, arena.string("reason", reason), arena.error()));
    }

    /** Ends the operations of this rank on the group at once, with {@link Status#ABORTED}, and waits
     *  for no other rank. A buffer is the caller's again when its call or work has ended, which takes
     *  milliseconds. Those of the other ranks fail as with {@link #revoke}. Does nothing if the group
     *  has failed before. */
    public void abort() {
        core.act((arena, group) -> Raw.tutti_group_abort(group, arena.error()));
    }

    /** A work that ends when the group cannot go on: its failure says why, and names the rank. So a
     *  program learns of a death without an operation on the group, for instance by
     *  {@link Work#future}. If the group is closed first, it ends with {@link Status#ABORTED}. */
    public Work<Void> failure() {
        return new Work<>(core.number((arena, group, out) -> Raw.tutti_group_failure(
                group, out, arena.error())), new Borrowed(), null, null, false);
    }

    /** Gives every rank memory that the other ranks of its host read in place; every rank of this
     *  group calls it. The memory is zero and aligned to 4096 bytes. It stays until it is closed,
     *  also after the group's end. The timeout is that of {@link #withTimeout}.
     *  @param bytes  how many, 0 or more; ranks may differ */
    public SharedMemory alloc(int bytes) {
        Call.notNegative("bytes", bytes);
        return new SharedMemory(core.number((arena, group, out) -> {
            long options = arena.take(sizeof_tutti_memory_options);
            Raw.tutti_memory_options_init(options, sizeof_tutti_memory_options);
            arena.putLong(options + tutti_memory_options_timeout_ms, timeoutMs);
            return Raw.tutti_memory_alloc(group, bytes, options, out, arena.error());
        }), bytes);
    }

    /** Gives every rank memory of a device; every rank of this group calls it. The memory is zero.
     *  It stays until it is closed, also after the group's end. The timeout is that of
     *  {@link #withTimeout}.
     *  @param bytes  how many, 0 or more; ranks may differ */
    public DeviceMemory alloc(Device device, long bytes) {
        if (bytes < 0) throw TuttiException.invalid("bytes", bytes + " is negative");
        return new DeviceMemory(core.number((arena, group, out) -> {
            long options = arena.take(sizeof_tutti_memory_options);
            Raw.tutti_memory_options_init(options, sizeof_tutti_memory_options);
            arena.putInt(options + tutti_memory_options_device_type, device.type().code());
            arena.putInt(options + tutti_memory_options_device_index, device.index());
            arena.putLong(options + tutti_memory_options_timeout_ms, timeoutMs);
            return Raw.tutti_memory_alloc(group, bytes, options, out, arena.error());
        }), bytes, device);
    }

    private interface Fact {
        int ask(long group);
    }

    private int ask(Fact fact) {
        int answer = fact.ask(core.handle());
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
        return core.ask((arena, group) -> Memory.string(Raw.tutti_get_backend(group)));
    }

    /** The name of the backend for tensors on a type of device; null if the group refuses them. */
    public String backend(DeviceType device) {
        return core.ask((arena, group) -> Memory.string(
                Raw.tutti_get_backend_for_device(group, device.code())));
    }

    /** The backends by type of device, "cpu:gloo,cuda:gloo", with the settings of each: a text by
     *  which another group is made. */
    public String backendConfig() {
        return Bytes.text(core.number((arena, group, out) -> Raw.tutti_get_backend_config(
                group, out, arena.error())));
    }

    /** Whether sums are exact, see {@link GroupOptions#reproducible}. */
    public boolean isReproducible() {
        return ask(Raw::tutti_group_is_reproducible) == 1;
    }

    /** The one device that this rank works on in the group: that of the options with which it, or
     *  the group it was made from, was made; {@link Device#CPU} if there is none. Calls with
     *  tensors of another device of that type are refused. */
    public Device boundDevice() {
        return core.ask((arena, group) -> {
            long type = arena.slot();
            long index = arena.slot();
            arena.check(Raw.tutti_group_get_bound_device(group, type, index, arena.error()));
            return new Device(DeviceType.of(arena.getInts(type, 1)[0]), arena.getInts(index, 1)[0]);
        });
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
        return core.ask((arena, group) -> {
            long out = arena.take(4L * count);
            arena.check(Raw.tutti_get_process_group_ranks(group, out, count, arena.error()));
            return arena.getInts(out, count);
        });
    }

    /** The ranks of this group that are known to be lost: they died, or were silent for too long.
     *  Ranks that left by closing the group are not among them. */
    public int[] failedRanks() {
        int count = Math.max(0, size());
        return core.ask((arena, group) -> {
            long out = arena.take(4L * count);
            long found = arena.slot();
            arena.check(Raw.tutti_get_failed_ranks(group, out, count, found, arena.error()));
            return arena.getInts(out, (int) arena.getLong(found));
        });
    }

    /** The timeout of the group's operations; {@link Tutti#NO_TIMEOUT}: none. */
    public Duration timeout() {
        return Arena.duration(core.number((arena, group, out) -> Raw.tutti_group_get_timeout(
                group, out, arena.error())));
    }

    /** Sets the timeout of the group's operations from the next one on; each rank sets its own.
     *  @param timeout  above 0, or {@link Tutti#NO_TIMEOUT} */
    public void setTimeout(Duration timeout) {
        core.act((arena, group) -> Raw.tutti_group_set_timeout(group, Arena.timeout(timeout),
                                                               arena.error()));
    }

    /** The group's name in errors: its description, or the name that it got without one. */
    public String name() {
        return Bytes.text(core.number((arena, group, out) -> Raw.tutti_group_get_name(
                group, out, arena.error())));
    }

    /** Another handle of the same group, for a part of a program that closes its own: closing it
     *  leaves the group as it is. */
    public Group retain() {
        return shared(core.number((arena, group, out) -> Raw.tutti_group_retain(
                group, out, arena.error())));
    }

    /** For people, for instance "rank 0 of 4 (gloo)". */
    @Override
    public String toString() {
        if (isClosed()) return "closed group";
        return isMember() ? "rank " + rank() + " of " + size() + " (" + backend() + ")"
            : "group without this process";
    }

    /** Ends the group: what was sent arrives, operations that still run fail as aborted. Every rank
     *  calls it; none waits for the others. The default group, and one from {@link #create}, take
     *  the groups with them that were made from them. */
    public void destroy() {
        destroy(null);
    }

    /** {@link #destroy()} with a limit of its own.
     *  @param timeout  how long what was sent may take to arrive; null: 2 seconds */
    public void destroy(Duration timeout) {
        core.destroy(Arena.timeout(timeout));
    }

    /** Whether close has been called. */
    public boolean isClosed() {
        return core.isClosed();
    }

    /** Ends the group as {@link #destroy} does, unless it ended before, and gives the handle back;
     *  a group that a {@link Mesh} gave goes on until the mesh ends. A group that
     *  the program does not close is ended in the background once it is garbage. */
    @Override
    public void close() {
        core.close();
    }
}
