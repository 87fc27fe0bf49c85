package tutti;

/** The store refused or was lost (torch's DistStoreError). */
public class StoreException extends TuttiException {
    private static final long serialVersionUID = 1L;

    StoreException(Status status, int rank, int errno, String message) {
        super(status, rank, errno, message);
    }
}
