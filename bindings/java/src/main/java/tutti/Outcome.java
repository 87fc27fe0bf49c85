package tutti;

/** The result of an operation beside the contents of its buffers. */
interface Outcome<T> {
    /** The result, once the operation has succeeded.
     *  @param work  null if the call was synchronous */
    T get(Work<T> work);
}
