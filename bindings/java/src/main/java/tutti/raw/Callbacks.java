package tutti.raw;

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

    /** Reduces `count` elements at two addresses. */
    public interface Reduce {
        int reduce(long in, long inout, long count, int dtype);
    }

    /** Gathers `size` bytes of each rank. */
    public interface AllGather {
        int allGather(long input, long output, long size);
    }

    /** Hears a line of the log. */
    public interface Log {
        void line(int level, String message);
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

    public static native long logFunction();

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

    static void done(long user) {
        try {
            ((Done) REGISTERED.remove(user)).done();
        } catch (Throwable thrown) {
            report(thrown);
        }
    }

    static int reduce(long user, long in, long inout, long count, int dtype) {
        try {
            return ((Reduce) REGISTERED.get(user)).reduce(in, inout, count, dtype);
        } catch (Throwable thrown) {
            report(thrown);
            return RawConstants.TUTTI_ERR_BACKEND;
        }
    }

    static int allGather(long user, long input, long output, long size) {
        try {
            return ((AllGather) REGISTERED.get(user)).allGather(input, output, size);
        } catch (Throwable thrown) {
            report(thrown);
            return RawConstants.TUTTI_ERR_BACKEND;
        }
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

    private static void report(Throwable thrown) {
        Thread thread = Thread.currentThread();
        thread.getUncaughtExceptionHandler().uncaughtException(thread, thrown);
    }
}
