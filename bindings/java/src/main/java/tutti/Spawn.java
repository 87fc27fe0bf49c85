package tutti;

import java.io.File;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** A class of the program in several processes, with no launcher. A virtual machine cannot be
 *  forked, as the C interface's tutti_spawn does; so new ones are started, with this one's class
 *  or module path, and run the class's main. Each finds its place in RANK, LOCAL_RANK, WORLD_SIZE,
 *  LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT, where this process serves a store:
 *  {@link Tutti#initProcessGroup()} makes them one group. */
public final class Spawn {
    private static final Duration GRACE = Duration.ofSeconds(5);

    private Duration timeout = Tutti.NO_TIMEOUT;
    private Duration gracePeriod = GRACE;
    private List<String> javaOptions = List.of();

    /** Every option at its default. */
    public Spawn() {}

    /** The limit of the processes' whole life; none by default. */
    public Spawn timeout(Duration timeout) {
        Arena.timeout(timeout);
        this.timeout = timeout == null ? Tutti.NO_TIMEOUT : timeout;
        return this;
    }

    /** From asking a process to end to killing it; 5 seconds by default. */
    public Spawn gracePeriod(Duration period) {
        gracePeriod = period;
        return this;
    }

    /** Options of the new virtual machines, beside their class path. */
    public Spawn javaOptions(String... options) {
        javaOptions = List.of(options);
        return this;
    }

    /** Runs a class's main in new processes of this machine and waits for all. The first that fails
     *  ends the others.
     *  @param program    its main gets the arguments
     *  @param processes  1 to 4096
     *  @throws PeerLostException        with the rank of the first that failed, and how
     *  @throws TimeoutExpiredException  after the timeout; no process is left */
    public void run(Class<?> program, int processes, String... arguments) {
        if (processes < 1 || processes > 4096) {
            throw TuttiException.invalid("processes", processes + " is not from 1 to 4096");
        }
        TCPStore.Options options = new TCPStore.Options().waitForWorkers(false);
        List<Process> started = new ArrayList<>();
        Thread atExit = new Thread(() -> started.forEach(Process::destroy), "tutti spawn");
        Runtime.getRuntime().addShutdownHook(atExit);
        try (TCPStore store = new TCPStore("127.0.0.1", 0, -1, true, options)) {
            List<String> command = command(program, arguments);
            for (int rank = 0; rank < processes; rank++) {
                started.add(start(command, rank, processes, store.port()));
            }
            join(started);
        } finally {
            end(started);
            Runtime.getRuntime().removeShutdownHook(atExit);
        }
    }

    /** {@link #run} on a thread of its own. */
    public CompletableFuture<Void> start(Class<?> program, int processes, String... arguments) {
        return CompletableFuture.runAsync(() -> run(program, processes, arguments),
                                          task -> new Thread(task, "tutti spawn").start());
    }

    private List<String> command(Class<?> program, String[] arguments) {
        List<String> command = new ArrayList<>();
        command.add(System.getProperty("java.home") + File.separator + "bin" + File.separator
                    + "java");
        command.addAll(javaOptions);
        for (String name : List.of(tutti.raw.Library.PROPERTY, "java.library.path")) {
            String value = System.getProperty(name);
            if (value != null) command.add("-D" + name + "=" + value);
        }
        if (program.getModule().isNamed()) {
            command.addAll(List.of("-p", System.getProperty("jdk.module.path"), "-m",
                                   program.getModule().getName() + "/" + program.getName()));
        } else {
            command.addAll(List.of("-cp", System.getProperty("java.class.path"),
                                   program.getName()));
        }
        command.addAll(List.of(arguments));
        return command;
    }

    private static Process start(List<String> command, int rank, int size, int port) {
        ProcessBuilder builder = new ProcessBuilder(command).inheritIO();
        builder.redirectInput(new File("/dev/null"));
        Map<String, String> environment = builder.environment();
        environment.put("RANK", Integer.toString(rank));
        environment.put("LOCAL_RANK", Integer.toString(rank));
        environment.put("WORLD_SIZE", Integer.toString(size));
        environment.put("LOCAL_WORLD_SIZE", Integer.toString(size));
        environment.put("MASTER_ADDR", "127.0.0.1");
        environment.put("MASTER_PORT", Integer.toString(port));
        environment.put("TORCHELASTIC_USE_AGENT_STORE", "True");
        try {
            return builder.start();
        } catch (IOException failure) {
            TuttiException refused = new TuttiException(Status.OUT_OF_MEMORY, rank, 0,
                "spawn: rank " + rank + " could not be started: " + failure.getMessage());
            refused.initCause(failure);
            throw refused;
        }
    }

    private void join(List<Process> started) {
        LinkedBlockingQueue<Integer> ended = new LinkedBlockingQueue<>();
        for (int i = 0; i < started.size(); i++) {
            int rank = i;
            started.get(i).onExit().thenRun(() -> ended.add(rank));
        }
        long deadline = System.nanoTime() + TimeUnit.NANOSECONDS.convert(timeout);
        try {
            for (int left = started.size(); left > 0; left--) {
                Integer rank = ended.poll(deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
                if (rank == null) {
                    throw new TimeoutExpiredException(Status.TIMEOUT, -1, 0, "spawn: " + left
                        + " of " + started.size() + " processes still ran after " + timeout);
                }
                int code = started.get(rank).exitValue();
                if (code != 0) {
                    throw new PeerLostException(Status.PEER_LOST, rank, 0, "spawn: rank " + rank
                        + (code > 128 ? " died of signal " + (code - 128)
                           : " exited with code " + code));
                }
            }
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new TuttiException(Status.ABORTED, -1, 0, "spawn: the thread was interrupted");
        }
    }

    /** No process is left after this. */
    private void end(List<Process> started) {
        started.forEach(Process::destroy);
        long deadline = System.nanoTime() + gracePeriod.toNanos();
        boolean interrupted = Thread.interrupted();
        for (Process process : started) {
            try {
                long left = Math.max(0, deadline - System.nanoTime());
                process.waitFor(left, TimeUnit.NANOSECONDS);
            } catch (InterruptedException again) {
                interrupted = true;
            }
            process.destroyForcibly().onExit().join();
        }
        if (interrupted) Thread.currentThread().interrupt();
    }
}
