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
        return store.number((arena, handle, out) -> Raw.tutti_prefix_store_create(
                handle, arena.text("prefix", prefix), out, arena.error()));
    }

    /** The very store that this is a view of, by a handle of its own. */
    public Store underlyingStore() {
        return new Store(number((arena, store, out) -> Raw.tutti_prefix_store_underlying_store(
                store, out, arena.error())), underlyingInterrupts);
    }
}
