package tutti;

/** Connecting, listening or resolving failed (torch's DistNetworkError). */
public final class NetworkException extends TuttiException {
    private static final long serialVersionUID = 1L;

    NetworkException(Status status, int rank, int errno, String message) {
        super(status, rank, errno, message);
    }
}
