package tutti;

import java.time.Duration;
import tutti.raw.Raw;

/** The store of a library {@code libtutti-NAME.so}. */
public final class LibraryStore extends Store {
    /** Opens it.
     *  @param name     of the library
     *  @param address  what the store is to open, in a form of its own */
    public LibraryStore(String name, String address) {
        this(name, address, null);
    }

    /** Opens it.
     *  @param timeout  of opening, and of the store's calls; null: 300 seconds */
    public LibraryStore(String name, String address, Duration timeout) {
        super(make((arena, out) -> Raw.tutti_store_open(
                arena.text("name", name), arena.text("address", address), options(arena, timeout),
                out, arena.error())));
    }
}
