package tutti;

/** How much is checked and told; torch's DebugLevel. Under DETAIL ranks compare what they call
 *  before each collective. */
public enum DebugLevel {
    OFF,
    INFO,
    DETAIL
}
