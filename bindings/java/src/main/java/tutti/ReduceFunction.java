package tutti;

import java.nio.ByteBuffer;

/** A reduction of the program's own, see {@link ReduceOp#user}. */
@FunctionalInterface
public interface ReduceFunction {
    /** Reduces elements that do not depend on each other: inout[i] = in[i] op inout[i], where `in`
     *  comes from the lower ranks. Both buffers have the machine's byte order, begin at 0 and have
     *  the same number of bytes; they mean nothing after the call. What is thrown fails the
     *  operation, and with it the group.
     *  @param in     the elements of the lower ranks
     *  @param inout  those of the higher ranks, which the result replaces
     *  @param dtype  what the elements are */
    void reduce(ByteBuffer in, ByteBuffer inout, DType dtype) throws Exception;
}
