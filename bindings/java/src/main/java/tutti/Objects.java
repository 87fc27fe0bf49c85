package tutti;

import java.util.ArrayList;
import java.util.List;
import tutti.raw.Raw;

/** Collectives and messages of objects, whose sizes may differ between ranks. What goes in is a
 *  Java value ({@link Value#of} says which) or a {@link Value}, what comes out is as
 *  {@link Value#get()} gives it. Not while calls are gathered ({@link Group#coalesce}). */
abstract class Objects extends Messages {
    Objects(Core core, long timeoutMs, ObjectOptions objectOptions) {
        super(core, timeoutMs, objectOptions);
    }

    private long limits(Call call) {
        return ObjectOptions.struct(call.frame, objectOptions);
    }

    private static List<Object> copy(List<?> objects) {
        return objects == null ? null : new ArrayList<>(objects);
    }

    /** Every rank receives the objects of one rank.
     *  @param objects   on groupSrc count objects; elsewhere null
     *  @param count     how many, the same on every rank
     *  @param groupSrc  group rank of the source, which gets what it gave */
    public List<Object> broadcastObjectList(List<?> objects, int count, int groupSrc) {
        return now(call -> broadcastObjectList(call, objects, count, groupSrc));
    }

    /** {@link #broadcastObjectList} that returns at once. */
    public Work<List<Object>> broadcastObjectListAsync(List<?> objects, int count, int groupSrc) {
        return start(call -> broadcastObjectList(call, objects, count, groupSrc));
    }

    private Outcome<List<Object>> broadcastObjectList(Call call, List<?> objects, int count,
                                                      int groupSrc) {
        call.refuseGathering("broadcastObjectList");
        if (objects != null && objects.size() != count) {
            throw TuttiException.invalid("objects", "there are " + objects.size()
                                         + " of them, and count is " + count);
        }
        Outcome<List<Object>> outcome = work -> copy(objects);
        long out = 0;
        if (Raw.tutti_get_rank(call.group) != groupSrc) {
            Received.Objects received =
                    new Received.Objects(call, Call.notNegative("count", count));
            outcome = received;
            out = received.address;
        }
        call.check(Raw.tutti_broadcast_object_list(
                call.group, call.objects(objects), count, out, groupSrc, limits(call),
                call.options, call.work, call.error));
        return outcome;
    }

    /** Every rank receives one object of every rank, in rank order. */
    public List<Object> allGatherObject(Object object) {
        return now(call -> allGatherObject(call, object));
    }

    /** {@link #allGatherObject} that returns at once. */
    public Work<List<Object>> allGatherObjectAsync(Object object) {
        return start(call -> allGatherObject(call, object));
    }

    private Outcome<List<Object>> allGatherObject(Call call, Object object) {
        call.refuseGathering("allGatherObject");
        Received.Objects received = new Received.Objects(call, call.worldSize());
        call.check(Raw.tutti_all_gather_object(
                call.group, call.object(object), received.address, received.count, limits(call),
                call.options, call.work, call.error));
        return received;
    }

    /** One rank receives one object of every rank.
     *  @param groupDst  group rank of the destination
     *  @return on groupDst the objects, in rank order; elsewhere null */
    public List<Object> gatherObject(Object object, int groupDst) {
        return now(call -> gatherObject(call, object, groupDst));
    }

    /** {@link #gatherObject} that returns at once. */
    public Work<List<Object>> gatherObjectAsync(Object object, int groupDst) {
        return start(call -> gatherObject(call, object, groupDst));
    }

    private Outcome<List<Object>> gatherObject(Call call, Object object, int groupDst) {
        call.refuseGathering("gatherObject");
        Received.Objects received = null;
        if (Raw.tutti_get_rank(call.group) == groupDst) {
            received = new Received.Objects(call, call.worldSize());
        }
        call.check(Raw.tutti_gather_object(
                call.group, call.object(object), received == null ? 0 : received.address,
                received == null ? 0 : received.count, groupDst, limits(call), call.options,
                call.work, call.error));
        return received;
    }

    /** Every rank receives its object of those that one rank has.
     *  @param objects   on groupSrc one for each rank; elsewhere null
     *  @param groupSrc  group rank of the source */
    public Object scatterObjectList(List<?> objects, int groupSrc) {
        return now(call -> scatterObjectList(call, objects, groupSrc));
    }

    /** {@link #scatterObjectList} that returns at once. */
    public Work<Object> scatterObjectListAsync(List<?> objects, int groupSrc) {
        return start(call -> scatterObjectList(call, objects, groupSrc));
    }

    private Outcome<Object> scatterObjectList(Call call, List<?> objects, int groupSrc) {
        call.refuseGathering("scatterObjectList");
        Received.OneObject received = new Received.OneObject(call);
        call.check(Raw.tutti_scatter_object_list(
                call.group, call.objects(objects), Call.count(objects), received.address, groupSrc,
                limits(call), call.options, call.work, call.error));
        return received;
    }

    /** Sends objects to one rank, which receives as many with the same tag; waits for it. */
    public void sendObjectList(List<?> objects, int groupDst, int tag) {
        message(call -> sendObjectList(call, objects, groupDst, tag));
    }

    /** {@link #sendObjectList} that returns at once; to oneself, too. */
    public Work<Void> sendObjectListAsync(List<?> objects, int groupDst, int tag) {
        return start(call -> sendObjectList(call, objects, groupDst, tag));
    }

    private Outcome<Void> sendObjectList(Call call, List<?> objects, int groupDst, int tag) {
        return call.check(Raw.tutti_send_object_list(
                call.group, call.objects(objects), Call.count(objects), groupDst, tag, limits(call),
                call.options, call.work, call.error));
    }

    /** Receives objects that were sent with the same tag.
     *  @param count     how many, as the sender sends
     *  @param groupSrc  group rank of the sender, or ANY_RANK */
    public ObjectMessage recvObjectList(int count, int groupSrc, int tag) {
        return message(call -> recvObjectList(call, count, groupSrc, tag));
    }

    /** {@link #recvObjectList} that returns at once; from oneself, too. */
    public Work<ObjectMessage> recvObjectListAsync(int count, int groupSrc, int tag) {
        return start(call -> recvObjectList(call, count, groupSrc, tag));
    }

    private Outcome<ObjectMessage> recvObjectList(Call call, int count, int groupSrc, int tag) {
        Received.SentObjects received =
                new Received.SentObjects(call, Call.notNegative("count", count));
        call.check(Raw.tutti_recv_object_list(
                call.group, received.address, count, groupSrc, tag, limits(call), call.options,
                received.outSource(call), call.work, call.error));
        return received;
    }
}
