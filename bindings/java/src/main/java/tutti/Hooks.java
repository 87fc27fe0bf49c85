package tutti;

import static tutti.raw.RawConstants.*;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import tutti.raw.Callbacks;
import tutti.raw.Memory;
import tutti.raw.Raw;

/** Functions that are called around every operation of this process, of all groups:
 *
 *  <pre>{@code
 *  try (Hooks hooks = new Hooks().before(op -> started(op)).aborted((op, why) -> failed(op, why))) {
 *      hooks.add();
 *      ...
 *  }
 *  }</pre>
 *
 *  <p>For each operation {@code before} is called, and then either {@code after} or {@code aborted}.
 *  Hooks that were added later are the inner ones: {@code before} is called in the order in which
 *  hooks were added, the others in the reverse. Any thread calls them, several at a time. A hook
 *  must not wait for its group; operations that it starts call no hooks. What it throws goes to
 *  the thread's handler of uncaught exceptions. */
public final class Hooks implements AutoCloseable {
    private Consumer<Operation> before;
    private Consumer<Operation> after;
    private BiConsumer<Operation, TuttiException> aborted;
    /** C's number; 0: they are not added. */
    private long id;

    /** Hooks as C calls them. */
    private static final class Called implements Callbacks.Hooks {
        private final Consumer<Operation> before;
        private final Consumer<Operation> after;
        private final BiConsumer<Operation, TuttiException> aborted;

        Called(Hooks hooks) {
            before = hooks.before;
            after = hooks.after;
            aborted = hooks.aborted;
        }

        private static void call(long address, Consumer<Operation> hook) {
            Operation operation = new Operation(address);
            try {
                hook.accept(operation);
            } finally {
                operation.end();
            }
        }

        @Override
        public void before(long operation) {
            call(operation, before);
        }

        @Override
        public void after(long operation) {
            call(operation, after);
        }

        @Override
        public void aborted(long operation, long why) {
            call(operation, about -> aborted.accept(about, failure(why)));
        }

        private static TuttiException failure(long error) {
            ByteBuffer from = Memory.view(error, sizeof_tutti_error).order(ByteOrder.nativeOrder());
            return TuttiException.of(from.getInt(tutti_error_status), from.getInt(tutti_error_rank),
                                     from.getInt(tutti_error_system_errno),
                                     Memory.string(error + tutti_error_message));
        }
    }

    /** No hooks yet. */
    public Hooks() {}

    /** Called before an operation moves anything: a collective in its turn, on the thread that runs
     *  it. */
    public Hooks before(Consumer<Operation> hook) {
        before = hook;
        return this;
    }

    /** Called when an operation has succeeded, before whoever waits for it goes on. */
    public Hooks after(Consumer<Operation> hook) {
        after = hook;
        return this;
    }

    /** Called instead of {@code after} when an operation has failed, with its failure. */
    public Hooks aborted(BiConsumer<Operation, TuttiException> hook) {
        aborted = hook;
        return this;
    }

    /** Adds the hooks as they are now: they hear of operations that begin from now on, until they
     *  are closed. The library keeps them until then.
     *  @throws UsageException  if there are none, or they are added already */
    public synchronized Hooks add() {
        if (id != 0) throw TuttiException.invalid("hooks", "they are added already");
        long user = Callbacks.register(new Called(this));
        try (Arena arena = Arena.open()) {
            long struct = arena.take(sizeof_tutti_hooks);
            Raw.tutti_hooks_init(struct, sizeof_tutti_hooks);
            arena.putLong(struct + tutti_hooks_before,
                          before == null ? 0 : Callbacks.beforeFunction());
            arena.putLong(struct + tutti_hooks_after, after == null ? 0 : Callbacks.afterFunction());
            arena.putLong(struct + tutti_hooks_aborted,
                          aborted == null ? 0 : Callbacks.abortedFunction());
            arena.putLong(struct + tutti_hooks_user, user);
            arena.putLong(struct + tutti_hooks_release_user, Callbacks.releaseFunction());
            long out = arena.slot();
            int status = Raw.tutti_hooks_add(struct, out, arena.error());
            if (status != TUTTI_OK) Callbacks.remove(user);
            arena.check(status);
            id = arena.getLong(out);
        }
        return this;
    }

    /** Removes the hooks, and waits for those that are running on other threads: none of them is
     *  called again. A hook may close its own. Closing twice does nothing. */
    @Override
    public void close() {
        long added;
        synchronized (this) {
            added = id;
            id = 0;
        }
        if (added == 0) return;
        try (Arena arena = Arena.open()) {
            arena.check(Raw.tutti_hooks_remove(added, arena.error()));
        }
    }
}
