package tutti.raw;

import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/** How the library calls Java: C gets the address of a function here and, as `user`, the number
 *  under which the Java object is registered. What is registered stays reachable until it is
 *  removed. Nothing that is thrown gets into C. */
public final class Callbacks {
    /** An operation is done. */
    public interface Done {
        void done();
    }

    /** Reduces `count` elements at two addresses; a failure puts its text into the error. */
    public interface Reduce {
        int reduce(long in, long inout, long count, int dtype, long error);
    }

    /** Gathers `size` bytes of each rank; a failure puts its text into the error. */
    public interface AllGather {
        int allGather(long input, long output, long size, long error);
    }

    /** Reduces the bucket at an address; a failure puts its text into the error. */
    public interface Hook {
        int reduce(long group, long bucket, long error);
    }

    /** Hears a line of the log. */
    public interface Log {
        void line(int level, String message);
    }

    /** Hears of an operation at an address: before it, after it, or with the error at an address
     *  that it has failed with. */
    public interface Hooks {
        void before(long operation);

        void after(long operation);

        void aborted(long operation, long why);
    }

    private static final Map<Long, Object> REGISTERED = new ConcurrentHashMap<>();
    private static final AtomicLong LAST = new AtomicLong();

    private Callbacks() {}

    static {
        RawJNI.tutti_version(); // loads the library
        if (bind() != 0) throw new ExceptionInInitializerError("tutti: no callbacks from C");
    }

    private static native int bind();

    /** Addresses of the C functions that call the methods below. */
    public static native long doneFunction();

    public static native long reduceFunction();

    public static native long allGatherFunction();

    public static native long hookFunction();

    public static native long logFunction();

    public static native long beforeFunction();

    public static native long afterFunction();

    public static native long abortedFunction();

    /** The address of the C function that ends what register began: a `release_user`. */
    public static native long releaseFunction();

    /** Registers a callback; the number is its `user`. */
    public static long register(Object callback) {
        long user = LAST.incrementAndGet();
        REGISTERED.put(user, callback);
        return user;
    }

    /** Ends what register began; a number that is not there is ignored. */
    public static void remove(long user) {
        REGISTERED.remove(user);
    }

    /** How many callbacks are registered: what tests look at for leaks. */
    public static int count() {
        return REGISTERED.size();
    }

    /** How many of them are of a type. */
    public static long count(Class<?> type) {
        return REGISTERED.values().stream().filter(type::isInstance).count();
    }

    static void done(long user) {
        try {
            ((Done) REGISTERED.remove(user)).done();
        } catch (Throwable thrown) {
            report(thrown);
        }
    }

    static int reduce(long user, long in, long inout, long count, int dtype, long error) {
        try {
            return ((Reduce) REGISTERED.get(user)).reduce(in, inout, count, dtype, error);
        } catch (Throwable thrown) {
            return tell(error, thrown);
        }
    }

    static int allGather(long user, long input, long output, long size, long error) {
        try {
            return ((AllGather) REGISTERED.get(user)).allGather(input, output, size, error);
        } catch (Throwable thrown) {
            return tell(error, thrown);
        }
    }

    static int hook(long user, long group, long bucket, long error) {
        try {
            return ((Hook) REGISTERED.get(user)).reduce(group, bucket, error);
        } catch (Throwable thrown) {
            return tell(error, thrown);
        }
    }

    /** Makes what was thrown the text of a failure; returns its status. */
    public static int tell(long error, Throwable thrown) {
        String text = String.valueOf(thrown).replace('\0', ' ');
        int room = RawConstants.sizeof_tutti_error - RawConstants.tutti_error_message - 1;
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        int size = Math.min(bytes.length, room);
        while (size < bytes.length && (bytes[size] & 0xc0) == 0x80) size--;
        byte[] ended = java.util.Arrays.copyOf(bytes, size + 1);
        ended[size] = 0;
        Memory.put(ended, 0, ended.length, error + RawConstants.tutti_error_message);
        return RawConstants.TUTTI_ERR_BACKEND;
    }

    static void log(long user, int level, long message) {
        Log log = (Log) REGISTERED.get(user);
        if (log == null) return;
        try {
            log.line(level, Memory.string(message));
        } catch (Throwable thrown) {
            report(thrown);
        }
    }

    static void operation(long user, int what, long operation, long why) {
        Hooks hooks = (Hooks) REGISTERED.get(user);
        if (hooks == null) return;
        try {
            if (what == 0) {
                hooks.before(operation);
            } else if (what == 1) {
                hooks.after(operation);
            } else {
                hooks.aborted(operation, why);
            }
        } catch (Throwable thrown) {
            report(thrown);
        }
    }

    private static void report(Throwable thrown) {
        Thread thread = Thread.currentThread();
        thread.getUncaughtExceptionHandler().uncaughtException(thread, thrown);
    }
}
