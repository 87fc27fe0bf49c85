package tutti;

import static tutti.raw.RawConstants.*;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import tutti.raw.Callbacks;
import tutti.raw.Raw;

/** What an operation uses of Java's memory: it must stay reachable until the operation is done. Its
 *  work keeps it. Only if the work is closed or collected while the operation runs, C gets a
 *  callback, which takes longer than a short operation, and this is registered until then. Any
 *  thread. Does not refer to the work, which can so be collected. */
final class Borrowed implements Callbacks.Done {
    /** Those of works that have started, until the start of a later one finds them done. */
    private static final ArrayDeque<Borrowed> STARTED = new ArrayDeque<>();
    /** Those that stay for good, in a list that takes no memory, since there was none. */
    private static Borrowed lastForGood;

    private volatile List<Object> objects;
    private long work;
    private Borrowed nextForGood;
    private boolean isForGood;

    Borrowed() {
        this(new ArrayList<>(4));
    }

    private Borrowed(List<Object> objects) {
        this.objects = objects;
    }

    <T> T keep(T object) {
        objects.add(object);
        return object;
    }

    /** The same, for a work that has started. */
    Borrowed of(long work) {
        Borrowed its = new Borrowed(objects);
        its.work = work;
        if (its.isUsed()) {
            synchronized (STARTED) {
                STARTED.addLast(its);
            }
        }
        return its;
    }

    /** Releases what belongs to works that are done, though no thread has asked for their end;
     *  called before each start. Else the memory of a work that the program has dropped would be
     *  garbage only one collection after the work. Two for each that starts are enough. */
    static void sweep() {
        synchronized (STARTED) {
            for (int i = 0; i < 2 && !STARTED.isEmpty(); i++) {
                Borrowed oldest = STARTED.removeFirst();
                if (oldest.isUsed() && oldest.runs()) {
                    STARTED.addLast(oldest);
                    return;
                }
            }
        }
    }

    /** Asks C, but not by is_completed: that would begin the operation, which the thread that waits
     *  for it had better run itself. */
    private boolean runs() {
        try (Arena arena = Arena.open()) {
            long out = arena.slot();
            if (Raw.tutti_work_get_duration(work, out, 0) != TUTTI_OK) return false; // released
            if (arena.getDouble(out) < 0) return true;
            done();
            return false;
        }
    }

    /** The operation is done: C has said so. */
    @Override
    public void done() {
        objects = null;
    }

    /** Whether the operation may still use it. */
    boolean isUsed() {
        List<Object> used = objects;
        return used != null && !used.isEmpty();
    }

    /** Asks C whether the operation is done; it does not know of a work that has been released. */
    void look(long work) {
        if (!isUsed()) return;
        try (Arena arena = Arena.open()) {
            long out = arena.slot();
            Raw.tutti_work_is_completed(work, out, 0);
            if (arena.getInt(out) != 0) done();
        }
    }

    /** Gives a work back. While its operation runs, this stays reachable. Throws nothing. */
    void release(long work) {
        try {
            look(work);
            if (isUsed()) {
                // If C cannot take it, it stays registered.
                Raw.tutti_work_then(work, Callbacks.doneFunction(), Callbacks.register(this), 0, 0);
            }
        } catch (Throwable noMemory) {
            stayForGood(this);
        }
        Raw.tutti_work_release(work);
    }

    /** The same for one of several works that use these objects: the end of one leaves them to the
     *  others. */
    void releaseOne(long work) {
        Borrowed its;
        try {
            its = new Borrowed(objects);
        } catch (OutOfMemoryError noMemory) {
            stayForGood(this);
            Raw.tutti_work_release(work);
            return;
        }
        its.release(work);
    }

    private static synchronized void stayForGood(Borrowed borrowed) {
        if (borrowed.isForGood) return;
        borrowed.isForGood = true;
        borrowed.nextForGood = lastForGood;
        lastForGood = borrowed;
    }
}
