package tutti;

import static org.junit.jupiter.api.Assertions.*;

import java.nio.ByteBuffer;
import java.nio.DoubleBuffer;
import org.junit.jupiter.api.Test;
import tutti.raw.Memory;

class SharedMemoryTest {
    @Test
    void calls_take_it_as_any_memory() {
        Ranks.run(2, group -> {
            try (SharedMemory memory = group.alloc(64)) {
                DoubleBuffer numbers = memory.buffer().asDoubleBuffer();
                assertEquals(0, Memory.address(memory.buffer()) % 64);
                assertEquals(8, numbers.capacity());
                for (int i = 0; i < 8; i++) assertEquals(0, numbers.get(i));
                numbers.put(3, group.rank() + 1);
                Tensor tensor = memory.tensor(DType.FLOAT64);
                group.allReduce(tensor, ReduceOp.SUM);
                assertEquals(3, numbers.get(3));
                group.allReduceAsync(tensor.slice(3, 1), ReduceOp.SUM).await();
                assertEquals(6, tensor.buffer().asDoubleBuffer().get(3));
                group.allReduce(Tensor.of(numbers.slice(3, 1)), ReduceOp.SUM);
                assertEquals(12, numbers.get(3));
            }
        });
    }

    @Test
    void ranks_may_ask_for_different_sizes() {
        Ranks.run(3, group -> {
            try (SharedMemory memory = group.alloc(8 * group.rank())) {
                assertEquals(8 * group.rank(), memory.buffer().capacity());
                assertEquals(group.rank(), memory.tensor(DType.INT64).count());
            }
            assertThrows(UsageException.class, () -> group.alloc(-1));
        });
    }

    @Test
    void it_is_refused_after_close() {
        Ranks.run(1, group -> {
            SharedMemory memory = group.alloc(8);
            Tensor tensor = memory.tensor(DType.INT64);
            memory.close();
            memory.close();
            assertTrue(memory.isClosed());
            assertThrows(UsageException.class, memory::buffer);
            assertThrows(UsageException.class, () -> memory.tensor(DType.INT8));
            assertThrows(UsageException.class, tensor::buffer);
            UsageException refused = assertThrows(UsageException.class,
                () -> group.broadcast(tensor.slice(0, 1), 0));
            assertEquals("tensor: the shared memory is closed", refused.getMessage());
            assertEquals(Status.INVALID_HANDLE, refused.status());
            assertThrows(UsageException.class, () -> ReduceOp.premulSum(tensor));
        });
    }

    @Test
    void a_buffer_and_an_operation_keep_it() {
        Ranks.runToTheEnd(1, group -> {
            DoubleBuffer kept;
            Work<Integer> work;
            try (SharedMemory memory = group.alloc(1 << 20)) {
                kept = memory.buffer().slice(8, 16).order(java.nio.ByteOrder.nativeOrder())
                        .asDoubleBuffer();
                work = group.irecv(memory.tensor(DType.FLOAT64).slice(1, 1), 0, 0);
            }
            for (int i = 0; i < 5; i++) System.gc();
            group.isend(Ranks.doubles(7), 0, 0).await();
            work.await();
            group.close();
            for (int i = 0; i < 5; i++) System.gc();
            assertEquals(7, kept.get(0));
            kept.put(1, 1);
        });
    }

    @Test
    void what_nobody_refers_to_is_given_back() {
        Ranks.run(2, group -> {
            for (int i = 0; i < 50; i++) {
                SharedMemory memory = group.alloc(1 << 16);
                ByteBuffer buffer = memory.buffer();
                buffer.put(0, (byte) 1);
                if (i % 2 == 0) memory.close(); // else dropped
            }
        });
        while (SharedMemory.bytesThere() > 0) System.gc(); // ends when the last one is collected
    }
}
