package tutti.raw;

import java.io.File;
import java.net.URI;
import java.security.CodeSource;

/** Finds and loads the JNI library, once: in the folder that the property says, else beside the
 *  jar, else where java.library.path leads. */
public final class Library {
    /** The property that names the folder. */
    public static final String PROPERTY = "tutti.library.path";

    private static final String NAME = "tutti_java";

    private Library() {}

    static void load() {
        String folder = System.getProperty(PROPERTY);
        if (folder != null) {
            System.load(new File(folder, System.mapLibraryName(NAME)).getAbsolutePath());
            return;
        }
        File beside = besideTheJar();
        if (beside != null && beside.exists()) {
            System.load(beside.getPath());
        } else {
            System.loadLibrary(NAME);
        }
    }

    private static File besideTheJar() {
        CodeSource source = Library.class.getProtectionDomain().getCodeSource();
        if (source == null || !"file".equals(source.getLocation().getProtocol())) return null;
        File jar = new File(URI.create(source.getLocation().toString())).getAbsoluteFile();
        return new File(jar.getParentFile(), System.mapLibraryName(NAME));
    }
}
