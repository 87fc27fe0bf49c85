package tutti;

import java.util.ArrayList;
import java.util.List;
import tutti.raw.Raw;

/** Collectives and messages of objects, whose sizes may differ between ranks. What goes in is a
 *  Java value ({@link Value#of} says which) or a {@link Value}, what comes out is as
 *  {@link Value#get()} gives it. A coalescing
 *  ({@link Group#coalesce}) does not take them. */
abstract class Objects extends Messages {
    Objects(Core core, long timeoutMs, long stream, byte[] tagName,
            ObjectOptions objectOptions) {
        super(core, timeoutMs, stream, tagName, objectOptions);
    }

    private long limits(Call call) {
        return ObjectOptions.struct(call.arena, objectOptions);
    }

    private static Received<?, List<Object>> all(Call call, int count) {
        return Received.objects(call, count, (objects, source) -> objects);
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

    Outcome<List<Object>> broadcastObjectList(Call call, List<?> objects, int count,
                                                      int groupSrc) {
        if (objects != null && objects.size() != count) {
            throw TuttiException.invalid("objects", "there are " + objects.size()
                                         + " of them, and count is " + count);
        }
        boolean isSource = Raw.tutti_get_rank(call.group) == groupSrc;
        Received<?, List<Object>> received = all(call, Call.notNegative("count", count));
        call.check(Raw.tutti_broadcast_object_list(
                call.group, call.objects(objects), count, groupSrc, limits(call), call.options,
                isSource ? 0 : received.out, call.work, call.error));
        return isSource ? work -> copy(objects) : received;
    }

    /** Every rank receives one object of every rank, in rank order. */
    public List<Object> allGatherObject(Object object) {
        return now(call -> allGatherObject(call, object));
    }

    Outcome<List<Object>> allGatherObject(Call call, Object object) {
        Received<?, List<Object>> received = all(call, call.worldSize());
        call.check(Raw.tutti_all_gather_object(
                call.group, call.object(object), limits(call), call.options, received.out,
                received.outCount, call.work, call.error));
        return received;
    }

    /** One rank receives one object of every rank.
     *  @param groupDst  group rank of the destination
     *  @return on groupDst the objects, in rank order; elsewhere null */
    public List<Object> gatherObject(Object object, int groupDst) {
        return now(call -> gatherObject(call, object, groupDst));
    }

    Outcome<List<Object>> gatherObject(Call call, Object object, int groupDst) {
        Received<?, List<Object>> received =
                Raw.tutti_get_rank(call.group) == groupDst ? all(call, call.worldSize()) : null;
        call.check(Raw.tutti_gather_object(
                call.group, call.object(object), groupDst, limits(call), call.options,
                received == null ? 0 : received.out, received == null ? 0 : received.outCount,
                call.work, call.error));
        return received;
    }

    /** Every rank receives its object of those that one rank has.
     *  @param objects   on groupSrc one for each rank; elsewhere null
     *  @param groupSrc  group rank of the source */
    public Object scatterObjectList(List<?> objects, int groupSrc) {
        return now(call -> scatterObjectList(call, objects, groupSrc));
    }

    Outcome<Object> scatterObjectList(Call call, List<?> objects, int groupSrc) {
        Received<?, Object> received =
                Received.objects(call, 1, (all, source) -> all.get(0));
        call.check(Raw.tutti_scatter_object_list(
                call.group, call.objects(objects), Call.count(objects), groupSrc, limits(call),
                call.options, received.out, call.work, call.error));
        return received;
    }

    /** Sends objects to one rank, which receives as many with the same tag; waits for it. */
    public void sendObjectList(List<?> objects, int groupDst, int tag) {
        now(call -> sendObjectList(call, objects, groupDst, tag));
    }

    Outcome<Void> sendObjectList(Call call, List<?> objects, int groupDst, int tag) {
        return call.check(Raw.tutti_send_object_list(
                call.group, call.objects(objects), Call.count(objects), groupDst, tag, limits(call),
                call.options, call.work, call.error));
    }

    /** Receives objects that were sent with the same tag. Interrupting the thread ends this as it
     *  ends {@link #recv}.
     *  @param count     how many, as the sender sends
     *  @param groupSrc  group rank of the sender, or ANY_RANK */
    public ObjectMessage recvObjectList(int count, int groupSrc, int tag) {
        return receive(groupSrc, call -> recvObjectList(call, count, groupSrc, tag));
    }

    Outcome<ObjectMessage> recvObjectList(Call call, int count, int groupSrc, int tag) {
        call.receives = true;
        Received<?, ObjectMessage> received = Received.objects(
                call, Call.notNegative("count", count), ObjectMessage::new);
        call.check(Raw.tutti_recv_object_list(
                call.group, groupSrc, tag, limits(call), call.options, received.out, count,
                received.outSource, call.work, call.error));
        return received;
    }
}
