package tutti;

/** The operation timed out. */
public final class TimeoutExpiredException extends TuttiException {
    private static final long serialVersionUID = 1L;

    TimeoutExpiredException(Status status, int rank, int errno, String message) {
        super(status, rank, errno, message);
    }
}
