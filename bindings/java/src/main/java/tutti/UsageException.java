package tutti;

/** The program is to be changed: an argument that is wrong, an object that is closed, something
 *  that this backend or build does not have. */
public final class UsageException extends TuttiException {
    private static final long serialVersionUID = 1L;

    UsageException(Status status, int rank, int errno, String message) {
        super(status, rank, errno, message);
    }
}
