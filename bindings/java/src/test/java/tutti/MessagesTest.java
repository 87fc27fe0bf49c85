package tutti;

import static org.junit.jupiter.api.Assertions.*;

import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

class MessagesTest {
    @Test
    void a_message_arrives_in_an_array() {
        Ranks.run(2, group -> {
            float[] values = {1, 2, 3};
            if (group.rank() == 0) {
                group.send(Tensor.of(values), 1, 7);
            } else {
                float[] got = new float[3];
                assertEquals(0, group.recv(Tensor.of(got), Group.ANY_RANK, 7));
                assertArrayEquals(values, got);
            }
        });
    }

    @Test
    void a_ring_of_works_passes_values_on() {
        Ranks.run(4, group -> {
            int next = (group.rank() + 1) % 4;
            int before = (group.rank() + 3) % 4;
            Tensor in = Ranks.doubles(-1);
            Work<Void> sent = group.isend(Ranks.doubles(group.rank()), next, 0);
            Work<Integer> received = group.irecv(in, before, 0);
            assertNull(sent.await());
            assertEquals(before, received.await());
            assertEquals(before, received.sourceRank());
            assertEquals(0, received.sequenceNumber());
            assertEquals(before, Ranks.read(in)[0]);
        });
    }

    @Test
    void a_batch_goes_both_ways() {
        Ranks.run(2, group -> {
            int peer = 1 - group.rank();
            Tensor in = Ranks.doubles(0);
            List<Work<Integer>> works = group.batchISendIRecv(List.of(
                    P2POp.isend(Ranks.doubles(group.rank()), peer, 1), P2POp.irecv(in, peer, 1)));
            assertEquals(-1, works.get(0).await());
            assertEquals(peer, works.get(1).await());
            assertEquals(peer, Ranks.read(in)[0]);
            double[] array = {0};
            group.batch(List.of(P2POp.isend(Ranks.doubles(7), peer, 2),
                                P2POp.irecv(Tensor.of(array), peer, 2)));
            assertEquals(7, array[0]);
            assertEquals(List.of(), group.batchISendIRecv(List.of()));
        });
    }

    @Test
    void a_receive_times_out_and_the_group_goes_on() {
        Ranks.run(2, group -> {
            Group soon = group.withTimeout(Duration.ofMillis(20));
            assertThrows(TimeoutExpiredException.class,
                         () -> soon.recv(Ranks.doubles(0), 1 - group.rank(), 0));
            group.barrier();
        });
    }

    @Test
    void another_dtype_is_a_mismatch() {
        Ranks.run(2, group -> {
            if (group.rank() == 0) {
                group.isend(Ranks.doubles(1), 1, 0).await();
            } else {
                BackendException failure = assertThrows(BackendException.class,
                    () -> group.recv(Tensor.of(new int[1]), 0, 0));
                assertEquals(Status.MISMATCH, failure.status());
            }
        });
    }

    @Test
    void bad_arguments_are_named() {
        Ranks.run(1, group -> {
            UsageException rank = assertThrows(UsageException.class,
                () -> group.send(Ranks.doubles(1), 5, 0));
            assertTrue(rank.getMessage().contains("groupDst"), rank.getMessage());
            UsageException tag = assertThrows(UsageException.class,
                () -> group.isend(Ranks.doubles(1), 0, -1));
            assertTrue(tag.getMessage().contains("tag"), tag.getMessage());
            assertThrows(UsageException.class, () -> group.send(null, 0, 0));
            Tensor readOnly = Tensor.of(Ranks.doubles(1).buffer().asReadOnlyBuffer());
            assertThrows(UsageException.class, () -> group.irecv(readOnly, 0, 0));
            assertThrows(UsageException.class,
                         () -> group.batch(java.util.Collections.singletonList(null)));
        });
    }
}
