package tutti;

import java.nio.file.Path;
import java.time.Duration;
import tutti.raw.Raw;

/** A store in a file that all processes can reach and lock. */
public final class FileStore extends Store {
    /** Opens the file, or makes it; it is removed when the last of worldSize stores is closed.
     *  @param path       its folder must exist
     *  @param worldSize  how many processes will open it; -1: not fixed, the file stays */
    public FileStore(Path path, int worldSize) {
        this(path, worldSize, null);
    }

    /** Opens the file, or makes it.
     *  @param timeout  of the store's calls, and of the wait for others that hold the file's lock;
     *                  null: 300 seconds */
    public FileStore(Path path, int worldSize, Duration timeout) {
        super(make((arena, out) -> Raw.tutti_file_store_create(
                arena.text("path", path.toString()), worldSize, options(arena, timeout), out,
                arena.error())));
    }

    /** Where the file is, absolute. */
    public Path path() {
        return Path.of(Bytes.text(number((arena, store, out) -> Raw.tutti_file_store_path(
                store, out, arena.error()))));
    }
}
