package tutti;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import tutti.raw.Raw;

/** A store in a file that all processes can reach and lock. */
public final class FileStore extends Store {
    /** Opens the file, or makes it; it is removed when the last of worldSize stores is closed.
     *  @param path       its folder must exist
     *  @param worldSize  how many processes will open it; -1: not fixed, the file stays */
    public FileStore(Path path, int worldSize) {
        super(make((frame, out) -> Raw.tutti_file_store_create(
                frame.text("path", path.toString()), worldSize, out, frame.error())));
    }

    /** Where the file is, absolute. */
    public Path path() {
        byte[] path = bytes((frame, store, out) -> Raw.tutti_file_store_path(store, out,
                                                                             frame.error()));
        return Path.of(new String(path, StandardCharsets.UTF_8));
    }
}
