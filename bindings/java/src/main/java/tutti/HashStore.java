package tutti;

import tutti.raw.Raw;

/** A store that lives in this process only, for ranks that are threads. */
public final class HashStore extends Store {
    /** Makes an empty store. */
    public HashStore() {
        super(make((arena, out) -> Raw.tutti_hash_store_create(out, arena.error())));
    }
}
