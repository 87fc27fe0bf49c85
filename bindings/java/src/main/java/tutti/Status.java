package tutti;

import static tutti.raw.RawConstants.*;

/** The result of a call. Each one says what the caller can do next. */
public enum Status {
    /** All is well. */
    OK(TUTTI_OK),
    /** Fix the argument that is named. */
    INVALID_ARGUMENT(TUTTI_ERR_INVALID_ARGUMENT),
    /** A group, store, work, mesh or value that is closed or was never there. */
    INVALID_HANDLE(TUTTI_ERR_INVALID_HANDLE),
    /** Not in this backend or build. */
    UNSUPPORTED(TUTTI_ERR_UNSUPPORTED),
    /** The operation timed out. */
    TIMEOUT(TUTTI_ERR_TIMEOUT),
    /** The group was aborted or destroyed, or a wait was interrupted or cancelled. */
    ABORTED(TUTTI_ERR_ABORTED),
    /** A rank died, left or stopped: {@link TuttiException#rank()}. */
    PEER_LOST(TUTTI_ERR_PEER_LOST),
    /** Ranks called different things; the message shows both. */
    MISMATCH(TUTTI_ERR_MISMATCH),
    /** The backend failed; the group is lost. */
    BACKEND(TUTTI_ERR_BACKEND),
    /** Connecting, listening, resolving. */
    NETWORK(TUTTI_ERR_NETWORK),
    /** The store refused or was lost. */
    STORE(TUTTI_ERR_STORE),
    /** Nothing to pop; retry later. */
    QUEUE_EMPTY(TUTTI_ERR_QUEUE_EMPTY),
    /** Memory or descriptors ran out. */
    OUT_OF_MEMORY(TUTTI_ERR_OUT_OF_MEMORY),
    /** A wait expired; the operation goes on. */
    PENDING(TUTTI_ERR_PENDING),
    /** A fault of tutti itself, or a code this version does not know. */
    INTERNAL(TUTTI_ERR_INTERNAL);

    private static final Status[] ALL = values();

    private final int code;

    Status(int code) {
        this.code = code;
    }

    /** The number that the C interface has for it. */
    public int code() {
        return code;
    }

    static Status of(int code) {
        for (Status status : ALL) {
            if (status.code == code) return status;
        }
        return INTERNAL;
    }
}
