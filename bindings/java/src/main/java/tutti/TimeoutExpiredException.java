package tutti;

/** The deadline passed. Of {@link Work#await(java.time.Duration)} it may be the limit of that wait
 *  alone: {@link Work#isCompleted()} tells. */
public final class TimeoutExpiredException extends TuttiException {
    private static final long serialVersionUID = 1L;

    TimeoutExpiredException(Status status, int rank, int errno, String message) {
        super(status, rank, errno, message);
    }
}
