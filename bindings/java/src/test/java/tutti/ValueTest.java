package tutti;

import static org.junit.jupiter.api.Assertions.*;

import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ValueTest {
    @Test
    void elements_are_not_read_into_what_is_read_only() {
        ByteBuffer bytes = ByteBuffer.allocateDirect(2);
        Tensor readOnly = Tensor.of(bytes.asReadOnlyBuffer());
        UsageException refused = assertThrows(UsageException.class,
                                              () -> Value.of(List.of(1, 2)).elements(0, readOnly));
        assertEquals("out: the buffer is read-only", refused.getMessage());
        assertEquals(0, bytes.get(0));
    }

    @Test
    void a_shape_that_is_too_large_is_named() {
        UsageException refused = assertThrows(UsageException.class,
            () -> new NdArray(Tensor.of(new int[0]), 1L << 40, 1L << 40, 0));
        assertTrue(refused.getMessage().startsWith("shape: "), refused.getMessage());
    }

    @Test
    void each_kind_comes_out_as_it_went_in() {
        Object[][] pairs = {
            {null, null}, {true, true}, {(byte) -1, -1L}, {(short) 2, 2L}, {3, 3L}, {4L, 4L},
            {BigInteger.TEN, 10L}, {BigInteger.ONE.shiftLeft(63), BigInteger.ONE.shiftLeft(63)},
            {1.5f, 1.5}, {Double.NaN, Double.NaN}, {'ü', "ü"}, {new StringBuilder("b"), "b"},
            {new Object[] {1, "x"}, List.of(1L, "x")}, {List.of(), List.of()},
            {Map.of(), Map.of()}, {Instant.EPOCH, Instant.EPOCH}, {"\ud83d\ude00", "\ud83d\ude00"}};
        for (Object[] pair : pairs) assertEquals(pair[1], Value.of(pair[0]).get());
        assertArrayEquals(new byte[] {0, -1}, (byte[]) Value.of(new byte[] {0, -1}).get());
        assertArrayEquals(new byte[] {7}, (byte[]) Value.of(ByteBuffer.wrap(new byte[] {7})).get());
    }

    @Test
    void large_values_take_several_calls() {
        List<Object> list = new ArrayList<>();
        for (int i = 0; i < 10_000; i++) {
            list.add(i % 3 == 0 ? (Object) (long) i : "text number " + i);
            if (i % 1000 == 0) list.add("x".repeat(50_000));
            if (i % 500 == 0) list.add(new NdArray(Tensor.of(new long[i]), i));
        }
        Map<Object, Object> map = new LinkedHashMap<>();
        for (int i = 0; i < 1000; i++) map.put("key" + i, List.of((long) i));
        list.add(map);
        assertEquals(list, Value.of(list).get());
    }

    @Test
    void numbers_become_arrays() {
        Object[] arrays = {new short[] {1}, new int[] {1, 2}, new long[] {3}, new float[] {1.5f},
                           new double[0], new boolean[] {true, false}};
        DType[] dtypes = {DType.INT16, DType.INT32, DType.INT64, DType.FLOAT32, DType.FLOAT64,
                          DType.BOOL};
        for (int i = 0; i < arrays.length; i++) {
            NdArray array = (NdArray) Value.of(arrays[i]).get();
            assertEquals(dtypes[i], array.dtype());
            assertArrayEquals(new long[] {java.lang.reflect.Array.getLength(arrays[i])},
                              array.shape());
        }
        NdArray scalar = new NdArray(Tensor.of(new double[] {2.5}));
        assertEquals(scalar, Value.of(scalar).get());
        assertArrayEquals(new double[] {2.5}, (double[]) scalar.toArray());
        assertThrows(UsageException.class, () -> new NdArray(Tensor.of(new int[5]), 2, 3));
    }

    @Test
    void parts_are_read_in_place() {
        Value value = Value.of(Map.of("list", List.of(1, 2.5, "three", true), 5, "five"));
        assertEquals(Value.Kind.MAP, value.kind());
        assertEquals(2, value.size());
        Value list = value.find("list");
        assertEquals(4, list.size());
        assertEquals(1, list.at(0).asLong());
        assertEquals(1, list.at(0).asUnsignedLong());
        assertEquals(2.5, list.at(1).asDouble());
        assertEquals("three", list.at(2).asString());
        assertTrue(list.at(3).asBoolean());
        assertEquals("five", value.find(5).asString());
        assertNull(value.find("none"));
        assertNull(value.find(6));
        assertThrows(UsageException.class, () -> list.at(4));
        assertThrows(UsageException.class, () -> list.at(2).asLong());
        assertThrows(UsageException.class, () -> list.find("key"));
        assertEquals(List.of(1L, 2.5, "three", true), list.copy().get());
    }

    @Test
    void numbers_of_a_list_are_read_at_once() {
        Value list = Value.of(List.of(1, 2, 3));
        double[] numbers = new double[2];
        list.elements(1, Tensor.of(numbers));
        assertArrayEquals(new double[] {2, 3}, numbers);
        assertThrows(UsageException.class, () -> list.elements(2, Tensor.of(numbers)));
    }

    @Test
    void a_builder_adds_each_kind() {
        try (ValueBuilder builder = new ValueBuilder()) {
            Value value = builder.beginMap().addKey("list").beginList().addNil().addBool(true)
                    .addLong(-1).addUnsignedLong(-1).addDouble(0.5).addString("s")
                    .addBytes(new byte[] {1}).addInstant(Instant.ofEpochSecond(3, 4))
                    .addArray(new NdArray(Tensor.of(new int[] {1, 2}), 2))
                    .addElements(Tensor.of(new long[] {8, 9})).add(List.of("in", 1))
                    .add(Value.of("copied")).end().addLong(7).addNil().end().build();
            Value list = value.find("list");
            assertEquals(13, list.size());
            assertEquals(Value.Kind.UINT64, list.at(3).kind());
            assertEquals(-1, list.at(3).asUnsignedLong());
            assertArrayEquals(new byte[] {1}, list.at(6).asBytes());
            assertEquals(Instant.ofEpochSecond(3, 4), list.at(7).asInstant());
            assertArrayEquals(new int[] {1, 2}, (int[]) list.at(8).asArray().toArray());
            assertEquals(9, list.at(10).asLong());
            assertEquals(List.of("in", 1L), list.at(11).get());
            assertEquals("copied", list.at(12).asString());
            assertThrows(UsageException.class, builder::addNil);
        }
        try (ValueBuilder builder = new ValueBuilder()) {
            assertThrows(UsageException.class, builder.beginList()::build);
        }
    }

    @Test
    void values_compare_by_what_they_are() {
        Map<Object, Object> one = new LinkedHashMap<>(Map.of("a", 1));
        one.put("b", 2);
        Map<Object, Object> other = new LinkedHashMap<>(Map.of("b", 2L));
        other.put("a", (short) 1);
        assertEquals(Value.of(one), Value.of(other));
        assertEquals(Value.of(one).hashCode(), Value.of(other).hashCode());
        assertNotEquals(Value.of(1), Value.of(1.0));
        assertNotEquals(Value.of(1), "1");
    }

    @Test
    void values_are_written_and_read() {
        Value value = Value.of(Map.of("text", "x".repeat(10_000)));
        byte[] plain = value.encode(null);
        byte[] small = value.encode(new ObjectOptions().compress(true).compressionLevel(3)
                .compressionThreshold(100));
        assertTrue(small.length < plain.length / 10);
        assertEquals(value, Value.decode(plain, null));
        assertEquals(value, Value.decode(small, new ObjectOptions().maxBytes(1 << 20)));
        assertThrows(UsageException.class, () -> Value.decode(new byte[] {(byte) 0xc1}, null));
        assertThrows(UsageException.class,
            () -> Value.decode(plain, new ObjectOptions().maxBytes(10)));
        assertEquals("{\"a\": [1, null]}", Value.of(Map.of("a", java.util.Arrays.asList(1, null)))
                .toJson(0, 0).replace(":[", ": [").replace("1,n", "1, n"));
        assertTrue(value.toString().length() < 2000);
        assertEquals("\"xxx\"", Value.of(List.of("xxx")).at(0).toString());
    }

    @Test
    void a_closed_value_is_an_error() {
        Value value = Value.of(List.of(1));
        Value inner = value.at(0);
        value.close();
        assertEquals(Status.INVALID_HANDLE,
                     assertThrows(UsageException.class, inner::asLong).status());
        assertEquals("closed value", value.toString());
        assertThrows(UsageException.class, () -> Value.of(List.of(value)));
    }

    @Test
    void what_no_object_can_hold_is_refused() {
        Object[] bad = {new Object(), new char[1], BigInteger.ONE.shiftLeft(64),
                        BigInteger.ONE.shiftLeft(63).negate().subtract(BigInteger.ONE),
                        new java.math.BigDecimal(1), Map.of(1.5, 1), Map.of(List.of(), 1),
                        "\udc00"};
        for (Object value : bad) assertThrows(UsageException.class, () -> Value.of(value));
        assertEquals(Long.MIN_VALUE, Value.of(BigInteger.ONE.shiftLeft(63).negate()).get());
    }
}
