package tutti;

import java.lang.ref.Reference;
import tutti.raw.Raw;

/** A view of a store that puts a prefix and "/" before every key. */
public final class PrefixStore extends Store {
    /** Makes a view; the store may be closed before it. */
    public PrefixStore(String prefix, Store store) {
        super(makeOf(prefix, store));
    }

    private static long makeOf(String prefix, Store store) {
        try {
            return make((frame, out) -> Raw.tutti_prefix_store_create(
                    frame.text("prefix", prefix), store.handle(), out, frame.error()));
        } finally {
            Reference.reachabilityFence(store);
        }
    }

    /** The very store that this is a view of, by a handle of its own. */
    public Store underlyingStore() {
        return new Store(number((frame, store, out) -> Raw.tutti_prefix_store_underlying_store(
                store, out, frame.error())));
    }
}
