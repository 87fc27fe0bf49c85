package tutti;

import java.util.List;
import tutti.raw.Raw;

/** Collectives and messages of byte strings, whose sizes may differ between ranks. Arrays are
 *  copied, also in asynchronous calls. {@link ObjectOptions#maxBytes} limits what is received. */
abstract class ByteStrings extends Objects {
    ByteStrings(Core core, long timeoutMs, long stream, byte[] tagName,
                ObjectOptions objectOptions) {
        super(core, timeoutMs, stream, tagName, objectOptions);
    }

    private long most() {
        return ObjectOptions.maxBytes(objectOptions);
    }

    private static Received<?, byte[]> one(Call call) {
        return Received.bytes(call, 1, (all, source) -> all.get(0));
    }

    private static Received<?, List<byte[]>> all(Call call) {
        return Received.bytes(call, call.worldSize(), (bytes, source) -> bytes);
    }

    private static long size(byte[] bytes) {
        return bytes == null ? 0 : bytes.length;
    }

    /** Every rank receives the bytes of one rank.
     *  @param bytes     on groupSrc; elsewhere null
     *  @param groupSrc  group rank of the source, which gets what it gave */
    public byte[] broadcastBytes(byte[] bytes, int groupSrc) {
        return now(call -> broadcastBytes(call, bytes, groupSrc));
    }

    Outcome<byte[]> broadcastBytes(Call call, byte[] bytes, int groupSrc) {
        boolean isSource = Raw.tutti_get_rank(call.group) == groupSrc;
        Received<?, byte[]> received = one(call);
        call.check(Raw.tutti_broadcast_bytes(
                call.group, call.bytes(bytes), size(bytes), groupSrc, most(), call.options,
                isSource ? 0 : received.out, call.work, call.error));
        return isSource ? work -> bytes : received;
    }

    /** Every rank receives bytes of every rank, in rank order. */
    public List<byte[]> allGatherBytes(byte[] bytes) {
        return now(call -> allGatherBytes(call, bytes));
    }

    Outcome<List<byte[]>> allGatherBytes(Call call, byte[] bytes) {
        Received<?, List<byte[]>> received = all(call);
        call.check(Raw.tutti_all_gather_bytes(
                call.group, call.bytes(bytes), size(bytes), most(), call.options, received.out,
                received.outCount, call.work, call.error));
        return received;
    }

    /** One rank receives bytes of every rank.
     *  @param groupDst  group rank of the destination
     *  @return on groupDst the bytes, in rank order; elsewhere null */
    public List<byte[]> gatherBytes(byte[] bytes, int groupDst) {
        return now(call -> gatherBytes(call, bytes, groupDst));
    }

    Outcome<List<byte[]>> gatherBytes(Call call, byte[] bytes, int groupDst) {
        Received<?, List<byte[]>> received =
                Raw.tutti_get_rank(call.group) == groupDst ? all(call) : null;
        call.check(Raw.tutti_gather_bytes(
                call.group, call.bytes(bytes), size(bytes), groupDst, most(), call.options,
                received == null ? 0 : received.out, received == null ? 0 : received.outCount,
                call.work, call.error));
        return received;
    }

    /** Every rank receives its bytes of those that one rank has.
     *  @param bytes     on groupSrc an array for each rank; elsewhere null
     *  @param groupSrc  group rank of the source */
    public byte[] scatterBytes(List<byte[]> bytes, int groupSrc) {
        return now(call -> scatterBytes(call, bytes, groupSrc));
    }

    Outcome<byte[]> scatterBytes(Call call, List<byte[]> bytes, int groupSrc) {
        Received<?, byte[]> received = one(call);
        int count = (int) Call.count(bytes);
        long[] data = new long[count];
        long[] sizes = new long[count];
        for (int i = 0; i < count; i++) {
            data[i] = call.bytes(bytes.get(i));
            sizes[i] = size(bytes.get(i));
        }
        call.check(Raw.tutti_scatter_bytes(
                call.group, bytes == null ? 0 : call.arena.longs(data),
                bytes == null ? 0 : call.arena.longs(sizes), count, groupSrc, most(), call.options,
                received.out, call.work, call.error));
        return received;
    }

    /** Sends bytes to one rank, which receives them with the same tag; waits for it. */
    public void sendBytes(byte[] bytes, int groupDst, int tag) {
        now(call -> sendBytes(call, bytes, groupDst, tag));
    }

    Outcome<Void> sendBytes(Call call, byte[] bytes, int groupDst, int tag) {
        return call.check(Raw.tutti_send_bytes(call.group, call.bytes(bytes), size(bytes), groupDst,
                                               tag, call.options, call.work, call.error));
    }

    /** Receives bytes that were sent with the same tag. Interrupting the thread ends this as it ends
     *  {@link #recv}.
     *  @param groupSrc  group rank of the sender, or ANY_RANK */
    public BytesMessage recvBytes(int groupSrc, int tag) {
        return receive(groupSrc, call -> recvBytes(call, groupSrc, tag));
    }

    Outcome<BytesMessage> recvBytes(Call call, int groupSrc, int tag) {
        call.receives = true;
        Received<?, BytesMessage> received = Received.bytes(
                call, 1, (all, source) -> new BytesMessage(all.get(0), source));
        call.check(Raw.tutti_recv_bytes(
                call.group, groupSrc, tag, most(), call.options, received.out,
                received.outSource, call.work, call.error));
        return received;
    }
}
