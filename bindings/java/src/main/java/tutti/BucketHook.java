package tutti;

/** Reduces buckets in the program's own way, see {@link Reducer#setHook}. */
@FunctionalInterface
public interface BucketHook {
    /** Puts the result in the place of this rank's gradients. What it throws fails the reducer, on
     *  all ranks. On a device it works on the bucket's stream: its collectives are those of
     *  {@code group.withStream(bucket.stream())}.
     *  @param group   the reducer's own, which this call has for itself; closed afterwards
     *  @param bucket  means nothing after the call */
    void reduce(Group group, Bucket bucket) throws Exception;
}
