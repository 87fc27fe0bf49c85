package tutti;

/** A wait expired: the operation goes on, and may be waited for again. */
public final class PendingException extends TuttiException {
    private static final long serialVersionUID = 1L;

    PendingException(Status status, int rank, int errno, String message) {
        super(status, rank, errno, message);
    }
}
