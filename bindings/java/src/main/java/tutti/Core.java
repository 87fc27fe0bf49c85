package tutti;

import static tutti.raw.RawConstants.*;

import java.lang.ref.Reference;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.StampedLock;
import tutti.raw.Raw;

/** The handle of a group, and what all {@link Group} objects of this handle share. */
final class Core extends Handle {
    /** The group of all ranks; never released, so that it is the same before and after. */
    static final Core WORLD = new Core(GROUP_WORLD, true);

    /** Collectives hold it for reading, the begin and end of coalescing for writing: so every call
     *  knows whether it is gathered. */
    final StampedLock coalescing = new StampedLock();
    private final boolean made;
    private volatile Gathering gathering;

    /** What gathered calls borrow until their end is done. */
    static final class Gathering implements Outcome<Void> {
        final boolean async;
        private final List<Call.Borrowed> borrowed = new ArrayList<>();

        Gathering(boolean async) {
            this.async = async;
        }

        synchronized void add(Call.Borrowed call) {
            borrowed.add(call);
        }

        synchronized void copyBack(Frame frame) {
            for (Call.Borrowed call : borrowed) call.copyBack(frame);
        }

        @Override
        public synchronized void take(Work<Void> work) {
            for (Call.Borrowed call : borrowed) call.release();
            borrowed.clear();
        }

        @Override
        public Void get(Work<Void> work) {
            return null;
        }
    }

    /** @param made  whether closing ends the group, too, or gives back this handle alone */
    Core(long value, boolean made) {
        super("group", value, Raw::tutti_group_release);
        this.made = made;
    }

    Gathering gathering() {
        return gathering;
    }

    void setGathering(Gathering gathering) {
        this.gathering = gathering;
    }

    void destroy() {
        try (Frame frame = Frame.open()) {
            frame.check(Raw.tutti_destroy_process_group(handle(), frame.error()));
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    @Override
    public synchronized void close() {
        if (isClosed()) return;
        try (Frame frame = Frame.open()) {
            int status = made ? Raw.tutti_destroy_process_group(handle(), frame.error()) : TUTTI_OK;
            if (this != WORLD) release();
            // A group that was destroyed before is what close is for.
            if (status != TUTTI_ERR_INVALID_HANDLE) frame.check(status);
        } finally {
            Reference.reachabilityFence(this);
        }
    }
}
