package tutti;

/** A rank died, left or stopped: {@link #rank()} (torch's DistBackendError). */
public final class PeerLostException extends BackendException {
    private static final long serialVersionUID = 1L;

    PeerLostException(Status status, int rank, int errno, String message) {
        super(status, rank, errno, message);
    }
}
