package tutti;

import static tutti.raw.RawConstants.*;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import tutti.raw.Raw;

/** Messages between two ranks of the group. They stand outside the order of the collectives. */
abstract class Messages extends MultiGpu {
    /** As the source of a receive: any rank but this one. */
    public static final int ANY_RANK = -1;

    Messages(Core core, long timeoutMs, long stream, byte[] tagName,
             ObjectOptions objectOptions) {
        super(core, timeoutMs, stream, tagName, objectOptions);
    }

    /** Sends a tensor to one rank, which receives it with the same tag; waits for the receiver. */
    public void send(Tensor tensor, int groupDst, int tag) {
        now(call -> send(call, tensor, groupDst, tag));
    }

    static Outcome<Void> send(Call call, Tensor tensor, int groupDst, int tag) {
        return call.check(Raw.tutti_send(call.group, call.input("tensor", tensor), groupDst, tag,
                                         call.options, call.work, call.error));
    }

    /** Receives a message with this tag, count and dtype. Interrupting the thread ends the receive
     *  as {@link Work#cancel} does, with {@link Status#ABORTED}; if the message has begun to come,
     *  it is received. The thread stays interrupted.
     *  @param groupSrc  group rank of the sender, or ANY_RANK
     *  @return the sender's group rank */
    public int recv(Tensor tensor, int groupSrc, int tag) {
        return receive(groupSrc, call -> recv(call, tensor, groupSrc, tag));
    }

    static Outcome<Integer> recv(Call call, Tensor tensor, int groupSrc, int tag) {
        call.receives = true;
        long source = call.hasWork() ? 0 : call.arena.slot();
        call.check(Raw.tutti_recv(call.group, call.output("tensor", tensor), groupSrc, tag,
                                  call.options, source, call.work, call.error));
        Arena arena = call.arena;
        return call.hasWork() ? Work::source : work -> arena.getInt(source);
    }

    /** Starts several messages in their order, and waits for all of them. */
    public void batch(List<P2POp> ops) {
        now(call -> call.check(Raw.tutti_batch_isend_irecv(
                call.group, batch(call, ops), ops.size(), call.options, 0, call.error)));
    }

    /** Starts several sends and receives, in any mix, in their order; nothing starts if one of them
     *  is refused.
     *  @return a work for each, in their order; of a receive it gives the sender's group rank, of a
     *      send -1 */
    public List<Work<Integer>> batchISendIRecv(List<P2POp> ops) {
        List<P2POp> given = Arrays.asList(ops.toArray(new P2POp[0]));
        int count = given.size();
        List<Work<Integer>> started = new ArrayList<>(count);
        try (Call call = new Call(core, timeoutMs, stream, tagName, Call.End.STARTS)) {
            long works = call.arena.take(8L * count);
            call.check(Raw.tutti_batch_isend_irecv(call.group, batch(call, given), count,
                                                   call.options, works, call.error), works, count);
            for (P2POp op : given) started.add(call.work(Work::source, op.receives()));
            return started;
        } finally {
            java.lang.ref.Reference.reachabilityFence(this);
        }
    }

    private static long batch(Call call, List<P2POp> ops) {
        int size = sizeof_tutti_p2p_op;
        long list = call.arena.take((long) size * ops.size());
        for (int i = 0; i < ops.size(); i++) {
            P2POp op = ops.get(i);
            if (op == null) throw TuttiException.invalid("ops[" + i + "]", "null");
            long struct = list + (long) i * size;
            call.arena.putInt(struct + tutti_p2p_op_kind, op.kind);
            call.arena.putInt(struct + tutti_p2p_op_group_peer, op.groupPeer);
            call.arena.putInt(struct + tutti_p2p_op_tag, op.tag);
            long data = call.place("ops[" + i + "].tensor", op.tensor, op.receives());
            Call.fill(call.arena, struct + tutti_p2p_op_buffer, op.tensor, data);
        }
        return list;
    }
}
