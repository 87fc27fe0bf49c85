package tutti;

import static tutti.raw.RawConstants.*;

/** One message of {@link Group#batchISendIRecv}. */
public final class P2POp {
    final int kind;
    final Tensor tensor;
    final int groupPeer;
    final int tag;

    private P2POp(int kind, Tensor tensor, int groupPeer, int tag) {
        if (tensor == null) throw TuttiException.invalid("tensor", "null");
        this.kind = kind;
        this.tensor = tensor;
        this.groupPeer = groupPeer;
        this.tag = tag;
    }

    /** A message to a rank, which may be this one. */
    public static P2POp isend(Tensor tensor, int groupDst, int tag) {
        return new P2POp(TUTTI_ISEND, tensor, groupDst, tag);
    }

    /** A message from a rank, which may be this one.
     *  @param groupSrc  group rank of the sender, or {@link Group#ANY_RANK} */
    public static P2POp irecv(Tensor tensor, int groupSrc, int tag) {
        return new P2POp(TUTTI_IRECV, tensor, groupSrc, tag);
    }

    boolean receives() {
        return kind == TUTTI_IRECV;
    }
}
