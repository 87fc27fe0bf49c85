package tutti;

/** Nothing to pop; retry later (torch's DistQueueEmptyError). */
public final class QueueEmptyException extends StoreException {
    private static final long serialVersionUID = 1L;

    QueueEmptyException(Status status, int rank, int errno, String message) {
        super(status, rank, errno, message);
    }
}
