package tutti;

import static tutti.raw.RawConstants.*;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.LongBuffer;
import tutti.raw.Memory;

/** The gradients of some parameters of one dtype, one after the other. It shows them until the next
 *  {@link Reducer#begin}, after which they may be elsewhere. */
public final class Bucket {
    private final int index;
    private final int count;
    private final boolean last;
    private final Tensor gradients;
    private final long stream;
    private final int[] parameters;
    private final LongBuffer offsets;
    private final LongBuffer counts;

    /** @param address  of a bucket that C has filled in */
    Bucket(ReducerMemory memory, long address) {
        ByteBuffer bucket = Memory.view(address, sizeof_tutti_bucket)
                .order(ByteOrder.nativeOrder());
        index = bucket.getInt(tutti_bucket_index);
        count = bucket.getInt(tutti_bucket_bucket_count);
        last = bucket.getInt(tutti_bucket_is_last) != 0;
        gradients = memory.tensor(address + tutti_bucket_gradients);
        stream = bucket.getLong(tutti_bucket_stream);
        int size = (int) bucket.getLong(tutti_bucket_parameter_count);
        LongBuffer indices = copy(bucket.getLong(tutti_bucket_parameters), size);
        parameters = new int[size];
        for (int i = 0; i < size; i++) parameters[i] = (int) indices.get(i);
        offsets = copy(bucket.getLong(tutti_bucket_offsets), size);
        counts = copy(bucket.getLong(tutti_bucket_counts), size);
    }

    private static LongBuffer copy(long list, int size) {
        return ByteBuffer.wrap(Memory.bytes(list, 8L * size)).order(ByteOrder.nativeOrder())
                .asLongBuffer();
    }

    /** Its place in the order in which buckets are reduced, from 0. */
    public int index() {
        return index;
    }

    /** How many buckets the reducer has. */
    public int bucketCount() {
        return count;
    }

    /** Whether it is the one with the highest index. */
    public boolean isLast() {
        return last;
    }

    /** The gradients of all its parameters. */
    public Tensor gradients() {
        return gradients;
    }

    /** The stream of a bucket on a device: the gradients are there after what it has. A hook gives
     *  it to its collectives ({@link Group#withStream}). 0 on the CPU. */
    public long stream() {
        return stream;
    }

    /** The indices of its parameters, in their order in the bucket. */
    public int[] parameters() {
        return parameters.clone();
    }

    /** The gradient of one of its parameters.
     *  @param position  in {@link #parameters()} */
    public Tensor gradient(int position) {
        java.util.Objects.checkIndex(position, parameters.length);
        return gradients.slice(offsets.get(position), counts.get(position));
    }

    /** For people, for instance "bucket 0 of 2, FLOAT32[10]". */
    @Override
    public String toString() {
        return "bucket " + index + " of " + count + ", " + gradients;
    }
}
