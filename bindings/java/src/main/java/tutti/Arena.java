package tutti;

import static tutti.raw.RawConstants.*;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import tutti.raw.Memory;

/** Native memory for what one call passes by pointer: structs, strings, lists, places for results.
 *  Each thread has one arena; calls inside calls (from callbacks) take what lies behind. Closing
 *  gives back what was taken since opening. Every access is checked against what was taken. */
final class Arena implements AutoCloseable {
    private static final int SIZE = 1 << 16;
    private static final int CHUNK = 1 << 18;
    private static final int SPARE = 1 << 24;
    private static final ThreadLocal<Arena> ARENAS = ThreadLocal.withInitial(Arena::new);

    private final ByteBuffer memory = Memory.allocate(SIZE);
    private final long base = Memory.address(memory);
    private final List<Block> blocks = new ArrayList<>();
    private Block spare;
    private int[] marks = new int[16];
    private int depth;
    private int top;

    /** Direct memory of its own, for what the arena has no room for or what outlives the call. */
    static final class Block {
        final ByteBuffer memory;
        final long address;
        private int used;

        Block(int bytes) {
            memory = Memory.allocate(bytes);
            address = Memory.address(memory);
        }
    }

    private Arena() {
        top = sizeof_tutti_error;
        memory.putInt(tutti_error_struct_size, sizeof_tutti_error);
        memory.putInt(tutti_error_rank, -1);
    }

    static Arena open() {
        Arena arena = ARENAS.get();
        if (arena.depth + 3 > arena.marks.length) {
            arena.marks = java.util.Arrays.copyOf(arena.marks, 2 * arena.marks.length);
        }
        arena.marks[arena.depth++] = arena.top;
        arena.marks[arena.depth++] = arena.blocks.size();
        arena.marks[arena.depth++] = arena.blocks.isEmpty() ? 0 : arena.last().used;
        return arena;
    }

    private Block last() {
        return blocks.get(blocks.size() - 1);
    }

    @Override
    public void close() {
        int used = marks[--depth];
        int count = marks[--depth];
        while (blocks.size() > count) {
            Block block = blocks.remove(blocks.size() - 1);
            int bytes = block.memory.capacity();
            if (bytes <= SPARE && (spare == null || spare.memory.capacity() < bytes)) spare = block;
        }
        if (count > 0) last().used = used;
        top = marks[--depth];
    }

    /** The error that every call is given; one for all depths, since it is read at once. */
    long error() {
        return base;
    }

    /** Throws what the error says if a status is not OK. */
    void check(int status) {
        if (status != TUTTI_OK) throw failure(status);
    }

    /** The message of the error. */
    TuttiException failure(int status) {
        return failure(status, false);
    }

    /** The message of the error.
     *  @param inPlace  whether the call's one tensor is C's input and output */
    TuttiException failure(int status, boolean inPlace) {
        String message = Memory.string(base + tutti_error_message);
        if (inPlace) message = TuttiException.inPlace(status, message);
        return TuttiException.of(status, memory.getInt(tutti_error_rank),
                                 memory.getInt(tutti_error_system_errno), message);
    }

    /** Takes memory; it is 0, and aligned for everything. */
    long take(long bytes) {
        long address = takeAsItIs(bytes);
        ByteBuffer zeros = view(address, (int) bytes);
        for (int i = 0; i + 8 <= bytes; i += 8) zeros.putLong(i, 0);
        for (int i = (int) bytes & ~7; i < bytes; i++) zeros.put(i, (byte) 0);
        return address;
    }

    /** Takes memory that has any contents. */
    long takeAsItIs(long bytes) {
        if (bytes > Integer.MAX_VALUE - 16) {
            throw TuttiException.invalid("size", bytes + " bytes are more than one call takes");
        }
        int rounded = Math.max(16, ((int) bytes + 15) & ~15);
        if (rounded <= SIZE - top) {
            long address = base + top;
            top += rounded;
            return address;
        }
        if (blocks.isEmpty() || last().memory.capacity() - last().used < rounded) more(rounded);
        Block block = last();
        long address = block.address + block.used;
        block.used += rounded;
        return address;
    }

    /** Adds a block of so many bytes, or more. */
    private void more(int bytes) {
        Block block = spare != null && spare.memory.capacity() >= bytes ? spare
            : new Block(Math.max(bytes, CHUNK));
        if (block == spare) spare = null;
        block.used = 0;
        blocks.add(block);
    }

    /** The memory at an address that was taken. */
    ByteBuffer view(long address, int bytes) {
        ByteBuffer from = memory;
        long begin = base;
        if (!holds(memory, base, address)) {
            Block block = blockOf(address);
            from = block.memory;
            begin = block.address;
        }
        return from.slice((int) (address - begin), bytes).order(ByteOrder.nativeOrder());
    }

    private static boolean holds(ByteBuffer memory, long base, long address) {
        return address >= base && address < base + memory.capacity();
    }

    private Block blockOf(long address) {
        for (int i = blocks.size() - 1; i >= 0; i--) {
            Block block = blocks.get(i);
            if (holds(block.memory, block.address, address)) return block;
        }
        throw new IndexOutOfBoundsException("an address that the arena has not given");
    }

    int getInt(long address) {
        if (holds(memory, base, address)) return memory.getInt((int) (address - base));
        Block block = blockOf(address);
        return block.memory.getInt((int) (address - block.address));
    }

    long getLong(long address) {
        if (holds(memory, base, address)) return memory.getLong((int) (address - base));
        Block block = blockOf(address);
        return block.memory.getLong((int) (address - block.address));
    }

    double getDouble(long address) {
        return Double.longBitsToDouble(getLong(address));
    }

    void putInt(long address, int value) {
        if (holds(memory, base, address)) {
            memory.putInt((int) (address - base), value);
            return;
        }
        Block block = blockOf(address);
        block.memory.putInt((int) (address - block.address), value);
    }

    void putLong(long address, long value) {
        if (holds(memory, base, address)) {
            memory.putLong((int) (address - base), value);
            return;
        }
        Block block = blockOf(address);
        block.memory.putLong((int) (address - block.address), value);
    }

    /** A place for a result of up to 8 bytes. */
    long slot() {
        return take(8);
    }

    /** A string, or 0 for null. A NUL or half a surrogate pair in it is an error. */
    long string(String argument, String text) {
        return text == null ? 0 : bytes(utf8(argument, text));
    }

    /** A string that must be there. */
    long text(String argument, String text) {
        if (text == null) throw TuttiException.invalid(argument, "null");
        return string(argument, text);
    }

    /** A list of strings; 0 for null. */
    long strings(String argument, Collection<String> texts) {
        if (texts == null) return 0;
        long list = take(8L * texts.size());
        int i = 0;
        for (String text : texts) {
            putLong(list + 8L * i, text(argument + "[" + i + "]", text));
            i++;
        }
        return list;
    }

    /** A copy of an array, with a NUL behind it. */
    long bytes(byte[] bytes) {
        long address = take(bytes.length + 1L);
        Memory.put(bytes, 0, bytes.length, address);
        return address;
    }

    /** A list of 32-bit numbers; 0 for null. */
    long ints(int[] numbers) {
        if (numbers == null) return 0;
        long list = take(4L * numbers.length);
        for (int i = 0; i < numbers.length; i++) putInt(list + 4L * i, numbers[i]);
        return list;
    }

    /** Reads a list of 32-bit numbers. */
    int[] getInts(long list, int count) {
        int[] numbers = new int[count];
        for (int i = 0; i < count; i++) numbers[i] = getInt(list + 4L * i);
        return numbers;
    }

    /** A list of 64-bit numbers; 0 for null. */
    long longs(long[] numbers) {
        if (numbers == null) return 0;
        long list = take(8L * numbers.length);
        for (int i = 0; i < numbers.length; i++) putLong(list + 8L * i, numbers[i]);
        return list;
    }

    static byte[] utf8(String argument, String text) {
        if (text.indexOf('\0') >= 0) throw TuttiException.invalid(argument, "has a NUL in it");
        return anyUtf8(argument, text);
    }

    static byte[] anyUtf8(String argument, String text) {
        try {
            ByteBuffer encoded = StandardCharsets.UTF_8.newEncoder().encode(CharBuffer.wrap(text));
            byte[] bytes = new byte[encoded.remaining()];
            encoded.get(bytes);
            return bytes;
        } catch (CharacterCodingException half) {
            throw TuttiException.invalid(argument, "has half a surrogate pair in it");
        }
    }

    /** A timeout in milliseconds; null is the default. */
    static long timeout(Duration timeout) {
        if (timeout != null && (timeout.isZero() || timeout.isNegative())) {
            throw TuttiException.invalid("timeout", timeout + " is not above 0");
        }
        return limit(timeout);
    }

    /** A timeout from milliseconds. */
    static Duration duration(long milliseconds) {
        return milliseconds < 0 ? Tutti.NO_TIMEOUT : Duration.ofMillis(milliseconds);
    }

    /** The limit of a wait in milliseconds; null is none. What is not above 0, such as the rest of
     *  a deadline that has passed, is as short as can be. */
    static long limit(Duration limit) {
        if (limit == null) return 0;
        if (limit.compareTo(Tutti.NO_TIMEOUT) >= 0) return NO_TIMEOUT;
        return Math.max(1, limit.toMillis());
    }
}
