package tutti;

/** How much the log says; each level includes those before it. */
public enum LogLevel {
    OFF,
    ERROR,
    WARNING,
    INFO,
    DEBUG,
    TRACE
}
