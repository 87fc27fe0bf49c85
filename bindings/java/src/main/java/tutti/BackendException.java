package tutti;

/** The group failed: it was aborted or destroyed, ranks called different things, or its backend is
 *  lost (torch's DistBackendError). */
public class BackendException extends TuttiException {
    private static final long serialVersionUID = 1L;

    BackendException(Status status, int rank, int errno, String message) {
        super(status, rank, errno, message);
    }
}
