package tutti;

import static org.junit.jupiter.api.Assertions.*;

import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Object collectives, byte strings, and their messages. */
class ObjectsTest {
    private static final int RANKS = 3;

    /** One of each kind, as it comes out again. */
    private static Map<Object, Object> everything(int rank) {
        Map<Object, Object> map = new LinkedHashMap<>();
        map.put("nil", null);
        map.put("flag", rank == 1);
        map.put("rank", (long) rank);
        map.put("large", new BigInteger("18446744073709551615"));
        map.put("real", rank + 0.5);
        map.put("text", "tüt\0" + rank);
        map.put("list", Arrays.asList(1L, null, List.of()));
        map.put(-7L, Map.of("inner", 1L));
        map.put("time", Instant.ofEpochSecond(-5, 999_999_999));
        map.put("array", new NdArray(Tensor.of(new int[] {0, 1, 2, 3, 4, rank}), 2, 3));
        return map;
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    @Test
    void all_gather_gives_every_kind_back() {
        Ranks.run(RANKS, group -> {
            List<Object> wanted = new ArrayList<>();
            for (int r = 0; r < RANKS; r++) wanted.add(everything(r));
            assertEquals(wanted, group.allGatherObject(everything(group.rank())));
            assertEquals(wanted, group.allGatherObjectAsync(everything(group.rank())).await());
            assertEquals(wanted, group.allGatherObject(Value.of(everything(group.rank()))));
        });
    }

    @Test
    void broadcast_brings_a_list_to_all() {
        Ranks.run(RANKS, group -> {
            List<Object> objects = Arrays.asList("hello", Map.of(1L, -1L), null);
            List<?> mine = group.rank() == 2 ? objects : null;
            assertEquals(objects, group.broadcastObjectList(mine, 3, 2));
            assertEquals(objects, group.broadcastObjectListAsync(mine, 3, 2).await());
        });
    }

    @Test
    void gather_and_scatter_have_one_root() {
        Ranks.run(RANKS, group -> {
            List<Object> all = List.of(0L, 1L, 2L);
            boolean root = group.rank() == 1;
            assertEquals(root ? all : null, group.gatherObject(group.rank(), 1));
            assertEquals(root ? all : null, group.gatherObjectAsync(group.rank(), 1).await());
            assertEquals((long) group.rank(), group.scatterObjectList(root ? all : null, 1));
            assertEquals((long) group.rank(),
                         group.scatterObjectListAsync(root ? all : null, 1).await());
        });
    }

    @Test
    void objects_go_as_messages() {
        Ranks.run(2, group -> {
            List<Object> objects = Arrays.asList("a", 2L, null);
            if (group.rank() == 0) {
                group.sendObjectList(objects, 1, 1);
                group.sendObjectListAsync(objects, 1, 2).await();
            } else {
                assertEquals(new ObjectMessage(objects, 0),
                             group.recvObjectList(3, Group.ANY_RANK, 1));
                assertEquals(new ObjectMessage(objects, 0),
                             group.recvObjectListAsync(3, 0, 2).await());
            }
        });
    }

    @Test
    void byte_strings_of_any_length_go_round() {
        Ranks.run(RANKS, group -> {
            int rank = group.rank();
            byte[] mine = bytes("x".repeat(1000 * rank));
            byte[] source = rank == 1 ? mine : null;
            byte[] wanted = bytes("x".repeat(1000));
            assertArrayEquals(wanted, group.broadcastBytes(source, 1));
            assertArrayEquals(wanted, group.broadcastBytesAsync(source, 1).await());
            for (List<byte[]> all : List.of(group.allGatherBytes(mine),
                                            group.allGatherBytesAsync(mine).await())) {
                for (int r = 0; r < RANKS; r++) assertEquals(1000 * r, all.get(r).length);
            }
            List<byte[]> gathered = group.gatherBytes(mine, 2);
            assertEquals(rank == 2, gathered != null);
            assertEquals(rank == 2, group.gatherBytesAsync(mine, 2).await() != null);
            assertArrayEquals(mine, group.scatterBytes(gathered, 2));
            assertArrayEquals(mine, group.scatterBytesAsync(gathered, 2).await());
            Work<Void> sent = group.sendBytesAsync(mine, (rank + 1) % RANKS, 0);
            int before = (rank + RANKS - 1) % RANKS;
            BytesMessage received = group.recvBytes(before, 0);
            assertEquals(before, received.sourceRank());
            assertEquals(1000 * before, received.bytes().length);
            sent.await();
        });
    }

    @Test
    void short_bytes_are_sent_and_received_one_after_the_other() {
        Ranks.run(2, group -> {
            if (group.rank() == 0) group.sendBytes(bytes("short"), 1, 0);
            else assertArrayEquals(bytes("short"), group.recvBytesAsync(0, 0).await().bytes());
        });
    }

    @Test
    void what_is_beyond_a_limit_is_refused() {
        Ranks.run(1, group -> {
            Group narrow = group.withObjectOptions(new ObjectOptions().maxDepth(2));
            assertThrows(UsageException.class,
                         () -> narrow.allGatherObject(List.of(List.of(List.of(1)))));
            assertEquals(List.of(List.of(1L)), narrow.allGatherObject(List.of(1)));
        });
    }

    @Test
    void bad_arguments_are_named() {
        Ranks.run(1, group -> {
            UsageException kind = assertThrows(UsageException.class,
                () -> group.allGatherObject(new Thread()));
            assertTrue(kind.getMessage().contains("java.lang.Thread"), kind.getMessage());
            List<Object> endless = new ArrayList<>();
            endless.add(endless);
            assertThrows(UsageException.class, () -> group.allGatherObject(endless));
            assertThrows(UsageException.class, () -> group.recvObjectList(-1, 0, 0));
            assertThrows(UsageException.class,
                         () -> group.broadcastObjectList(List.of(1), 2, 0));
            assertThrows(UsageException.class, () -> group.scatterObjectList(List.of(1, 2), 0));
        });
    }
}
