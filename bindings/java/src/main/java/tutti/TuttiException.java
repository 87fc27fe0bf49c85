package tutti;

import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A call that failed. The message is one sentence: operation, group, rank, cause.
 *
 *  <p>{@link UsageException}: the program is to be changed. {@link TimeoutExpiredException}: the
 *  deadline passed. {@link BackendException}: the group failed, {@link PeerLostException} by the
 *  death of a rank. {@link NetworkException} and {@link StoreException}: what carries the ranks'
 *  meeting. Memory that ran out, and faults of tutti itself, are this class. */
public class TuttiException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** Names of the C interface in a message, and quoted texts, which stay as they are. */
    private static final Pattern C_NAMES =
            Pattern.compile("\"[^\"]*\"|"
                            + "\\b(?:options\\.stream|[a-z]+(?:_[a-z0-9]+)+|buffer|NULL)\\b");
    private static final Pattern IN_PLACE = Pattern.compile("\"[^\"]*\"|\\b(?:in|out)put\\b");

    private final Status status;
    private final int rank;
    private final int errno;

    TuttiException(Status status, int rank, int errno, String message) {
        super(message);
        this.status = status;
        this.rank = rank;
        this.errno = errno;
    }

    /** The kind of failure. */
    public Status status() {
        return status;
    }

    /** The group rank at fault, or -1. */
    public int rank() {
        return rank;
    }

    /** The errno of the system call behind it, or 0. */
    public int errno() {
        return errno;
    }

    /** A failure of the library; an argument has its Java name in the message. */
    static TuttiException of(int code, int rank, int errno, String message) {
        Status status = Status.of(code);
        switch (status) {
            case INVALID_ARGUMENT:
            case UNSUPPORTED:
                String named = C_NAMES.matcher(message).replaceAll(
                        name -> Matcher.quoteReplacement(javaName(name.group())));
                return new UsageException(status, rank, errno, named);
            case INVALID_HANDLE:
                return new UsageException(status, rank, errno, message);
            case PENDING:
                return new PendingException(status, rank, errno, message);
            case TIMEOUT:
                return new TimeoutExpiredException(status, rank, errno, message);
            case PEER_LOST:
                return new PeerLostException(status, rank, errno, message);
            case ABORTED:
            case MISMATCH:
            case BACKEND:
                return new BackendException(status, rank, errno, message);
            case NETWORK:
                return new NetworkException(status, rank, errno, message);
            case STORE:
                return new StoreException(status, rank, errno, message);
            case QUEUE_EMPTY:
                return new QueueEmptyException(status, rank, errno, message);
            default:
                return new TuttiException(status, rank, errno, message);
        }
    }

    /** The message of a call in place, whose one tensor C calls input and output; what is quoted in
     *  it stays. */
    static String inPlace(int code, String message) {
        Status status = Status.of(code);
        if (status != Status.INVALID_ARGUMENT && status != Status.UNSUPPORTED) return message;
        return IN_PLACE.matcher(message).replaceAll(name -> Matcher.quoteReplacement(
                name.group().startsWith("\"") ? name.group() : "tensor"));
    }

    private static String javaName(String name) {
        if (name.startsWith("\"")) return name;
        if (name.equals("options.stream")) return "stream";
        if (name.equals("buffer")) return "tensor";
        if (name.equals("NULL")) return "null";
        Matcher words = Pattern.compile("_(.)").matcher(
                name.replaceFirst("^tutti_", "").replaceFirst("_ms$", ""));
        return words.replaceAll(letter -> letter.group(1).toUpperCase(Locale.ROOT));
    }

    /** The same failure, for another thread that meets it. */
    TuttiException again() {
        TuttiException again = of(status.code(), rank, errno, getMessage());
        if (getCause() != null) again.initCause(getCause());
        return again;
    }

    static UsageException invalid(String argument, String fault) {
        return new UsageException(Status.INVALID_ARGUMENT, -1, 0, argument + ": " + fault);
    }
}
