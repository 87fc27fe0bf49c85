package tutti;

/** What an operation gives beside the contents of its buffers. */
interface Outcome<T> {
    /** Takes over what the operation left in native memory; called once, when it is done,
     *  successful or not, maybe on a thread of the library.
     *  @param work  null if the call was synchronous */
    default void take(Work<T> work) {}

    /** The result, after take.
     *  @param work  null if the call was synchronous */
    T get(Work<T> work);
}
