package tutti;

/** Bytes that came in a message.
 *  @param bytes       what was sent
 *  @param sourceRank  the sender's group rank */
public record BytesMessage(byte[] bytes, int sourceRank) {}
