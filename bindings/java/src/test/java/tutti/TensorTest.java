package tutti;

import static org.junit.jupiter.api.Assertions.*;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.IntBuffer;
import org.junit.jupiter.api.Test;
import tutti.raw.Memory;

class TensorTest {
    /** The byte order that is not the machine's. */
    private static ByteOrder otherOrder() {
        return ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN
            ? ByteOrder.BIG_ENDIAN : ByteOrder.LITTLE_ENDIAN;
    }

    @Test
    void a_slice_of_an_array_is_written_alone() {
        Ranks.run(2, group -> {
            double[] values = {1, 2, 3, 4};
            group.allReduce(Tensor.of(values).slice(1, 2), ReduceOp.SUM);
            assertArrayEquals(new double[] {1, 4, 6, 4}, values);
        });
    }

    @Test
    void a_buffer_counts_from_its_position_to_its_limit() {
        Ranks.run(2, group -> {
            IntBuffer heap = IntBuffer.wrap(new int[] {1, 2, 3}).position(1);
            group.allReduce(Tensor.of(heap), ReduceOp.SUM);
            assertArrayEquals(new int[] {1, 4, 6}, heap.array());
            DoubleBuffer direct = ByteBuffer.allocateDirect(32).order(ByteOrder.nativeOrder())
                    .asDoubleBuffer().put(new double[] {1, 2, 3, 4}).flip().position(2).limit(3);
            group.allReduceAsync(Tensor.of(direct), ReduceOp.SUM).await();
            assertEquals(6, direct.get(2));
            assertEquals(4, direct.limit(4).get(3));
            assertEquals(2, direct.get(1));
        });
    }

    @Test
    void input_and_output_may_be_the_same_array() {
        Ranks.run(2, group -> {
            long[] values = {3};
            group.allReduce(Tensor.of(values), Tensor.of(values), ReduceOp.SUM);
            assertEquals(6, values[0]);
        });
    }

    @Test
    void large_arrays_are_copied_too() {
        Ranks.run(2, group -> {
            float[] values = new float[3_000_000];
            java.util.Arrays.fill(values, 1);
            group.allReduce(Tensor.of(values), ReduceOp.SUM);
            group.allReduce(Tensor.of(values), ReduceOp.SUM);
            for (float value : values) assertEquals(4, value);
        });
    }

    @Test
    void memory_is_seen_in_another_type() {
        Tensor tensor = Tensor.allocate(DType.COMPLEX64, 3);
        assertEquals(3, tensor.count());
        assertEquals(24, tensor.buffer().capacity());
        assertTrue(tensor.isDirect());
        assertEquals(6, tensor.as(DType.FLOAT32).count());
        assertEquals(DType.FLOAT32, tensor.as(DType.FLOAT32).dtype());
        assertThrows(UsageException.class, () -> Tensor.of(new byte[3]).as(DType.INT16));
        tensor.buffer().putFloat(8, 1.5f);
        assertEquals(1.5f, tensor.slice(1, 1).buffer().getFloat(0));
    }

    @Test
    void bad_memory_is_refused() {
        assertThrows(UsageException.class, () -> Tensor.allocate(DType.FLOAT64, -1));
        assertThrows(UsageException.class, () -> Tensor.allocate(DType.COMPLEX128, 1 << 30));
        assertThrows(UsageException.class, () -> Tensor.of(new int[3]).slice(2, 2));
        assertThrows(UsageException.class, () -> Tensor.of(new int[3]).slice(-1, 1));
        assertThrows(UsageException.class,
                     () -> Tensor.of(IntBuffer.wrap(new int[1]).asReadOnlyBuffer()));
        assertThrows(UsageException.class,
            () -> Tensor.of(ByteBuffer.allocateDirect(8).order(otherOrder()).asIntBuffer()));
        assertThrows(UsageException.class, () -> Tensor.of(new int[1]).buffer());
    }

    @Test
    void bytes_in_another_order_are_no_numbers() {
        for (ByteBuffer bytes : new ByteBuffer[] {ByteBuffer.allocate(8),
                                                  ByteBuffer.allocateDirect(8)}) {
            Tensor swapped = Tensor.of(bytes.order(otherOrder()));
            UsageException refused = assertThrows(UsageException.class,
                                                  () -> swapped.slice(0, 4).as(DType.INT32));
            assertTrue(refused.getMessage().contains("byte order"), refused.getMessage());
            assertEquals(DType.UINT8, swapped.as(DType.UINT8).dtype());
            Tensor numbers = Tensor.of(bytes.order(ByteOrder.nativeOrder())).as(DType.INT32);
            assertEquals("INT32[2]", numbers.toString());
        }
    }

    @Test
    void what_no_array_can_hold_is_said() {
        OutOfMemoryError refused = assertThrows(OutOfMemoryError.class,
                                              () -> Memory.bytes(0, 1L << 31));
        assertEquals("2147483648 bytes are more than an array has", refused.getMessage());
    }

    @Test
    void an_empty_tensor_is_no_error() {
        Ranks.run(2, group -> {
            group.allReduce(Tensor.of(new double[0]), ReduceOp.SUM);
            group.allReduceAsync(Tensor.allocate(DType.INT8, 0), ReduceOp.SUM).await();
        });
    }
}
