package tutti;

import java.util.List;

/** Objects that came in a message.
 *  @param objects     what was sent
 *  @param sourceRank  the sender's group rank */
public record ObjectMessage(List<Object> objects, int sourceRank) {}
