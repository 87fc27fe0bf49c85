package tutti;

import java.util.concurrent.atomic.AtomicInteger;
import tutti.raw.Raw;

/** A view of a store that puts a prefix and "/" before every key. */
public final class PrefixStore extends Store {
    private final AtomicInteger underlyingInterrupts;

    /** Makes a view; the store may be closed before it. */
    public PrefixStore(String prefix, Store store) {
        super(makeOf(prefix, store));
        underlyingInterrupts = store.interrupts;
    }

    private static long makeOf(String prefix, Store store) {
        return store.number((frame, handle, out) -> Raw.tutti_prefix_store_create(
                handle, frame.text("prefix", prefix), out, frame.error()));
    }

    /** The very store that this is a view of, by a handle of its own. */
    public Store underlyingStore() {
        return new Store(number((frame, store, out) -> Raw.tutti_prefix_store_underlying_store(
                store, out, frame.error())), underlyingInterrupts);
    }
}
