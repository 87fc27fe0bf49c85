package tutti;

import static tutti.raw.RawConstants.*;

import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.util.function.DoubleBinaryOperator;
import java.util.function.LongConsumer;
import tutti.raw.Callbacks;
import tutti.raw.Memory;
import tutti.raw.Raw;

/** How a collective reduces: torch's ops, sums with a factor for each rank, and functions of the
 *  program. Those that are made here hold a place in a table of 32,768 until they are closed, or
 *  until the garbage collector finds them. */
public final class ReduceOp extends Handle {
    /** The sum; of BOOL the logical or. */
    public static final ReduceOp SUM = builtIn("SUM", TUTTI_SUM);
    /** The sum divided once by the number of ranks; floating point and complex. */
    public static final ReduceOp AVG = builtIn("AVG", TUTTI_AVG);
    /** The product; not complex; of BOOL the logical and. */
    public static final ReduceOp PRODUCT = builtIn("PRODUCT", TUTTI_PRODUCT);
    /** The least; not complex; a NaN wins. */
    public static final ReduceOp MIN = builtIn("MIN", TUTTI_MIN);
    /** The greatest; not complex; a NaN wins. */
    public static final ReduceOp MAX = builtIn("MAX", TUTTI_MAX);
    /** Bitwise and; integers and BOOL. */
    public static final ReduceOp BAND = builtIn("BAND", TUTTI_BAND);
    /** Bitwise or; integers and BOOL. */
    public static final ReduceOp BOR = builtIn("BOR", TUTTI_BOR);
    /** Bitwise exclusive or; integers and BOOL. */
    public static final ReduceOp BXOR = builtIn("BXOR", TUTTI_BXOR);

    private final String name;
    private final Function function;
    private final boolean constant;

    private ReduceOp(String name, int code, Function function, LongConsumer release) {
        super("reduce op", code, release);
        this.name = name;
        this.function = function;
        constant = code <= TUTTI_BXOR;
    }

    /** The op that is always there, of a number; null for others. */
    static ReduceOp known(int code) {
        for (ReduceOp op : new ReduceOp[] {SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR}) {
            if (op.code() == code) return op;
        }
        return null;
    }

    private static ReduceOp builtIn(String name, int code) {
        return new ReduceOp(name, code, null, value -> {});
    }

    /** Each input times a factor of its rank, then the sum; an integer factor goes with every dtype
     *  but BOOL, a floating-point one with floating point and complex, a complex one with complex.
     *  @param factor  one element of the factor's own dtype */
    public static ReduceOp premulSum(Tensor factor) {
        if (factor.count != 1) {
            throw TuttiException.invalid("factor", "has " + factor.count + " elements, not 1");
        }
        try (Arena arena = Arena.open()) {
            long out = arena.slot();
            long struct = Call.struct(arena, factor, Call.stage(arena, factor));
            arena.check(Raw.tutti_reduce_op_create_premul_sum(struct, out, arena.error()));
            Reference.reachabilityFence(factor);
            return new ReduceOp("PREMUL_SUM", arena.getInt(out), null,
                                value -> Raw.tutti_reduce_op_release((int) value));
        }
    }

    /** {@link #premulSum(Tensor)} with a floating-point factor. */
    public static ReduceOp premulSum(double factor) {
        return premulSum(Tensor.of(new double[] {factor}));
    }

    /** {@link #premulSum(Tensor)} with an integer factor. */
    public static ReduceOp premulSum(long factor) {
        return premulSum(Tensor.of(new long[] {factor}));
    }

    /** A commutative and associative op that a function does. */
    public static ReduceOp user(String name, ReduceFunction function) {
        return user(name, true, function);
    }

    /** An associative op that a function does, for every dtype the function understands. It is
     *  called on the thread that makes a synchronous call, or that waits for a work, or on the
     *  group's own thread, for any part of the data, any number of times; it must not call anything
     *  that waits for the group.
     *  @param name         1 to 64 bytes, the same on all ranks, which is compared
     *  @param commutative  false: results keep the order of the ranks, which costs more */
    public static ReduceOp user(String name, boolean commutative, ReduceFunction function) {
        java.util.Objects.requireNonNull(function, "function");
        Function registered = new Function(function);
        try (Arena arena = Arena.open()) {
            long out = arena.slot();
            long options = arena.take(sizeof_tutti_reduce_op_options);
            Raw.tutti_reduce_op_options_init(options, sizeof_tutti_reduce_op_options);
            arena.putInt(options + tutti_reduce_op_options_non_commutative, commutative ? 0 : 1);
            arena.check(Raw.tutti_reduce_op_create_user(
                    arena.text("name", name), Callbacks.reduceFunction(), registered.user,
                    Callbacks.releaseFunction(), options, out, arena.error()));
            return new ReduceOp(name, arena.getInt(out), registered,
                                value -> Raw.tutti_reduce_op_release((int) value));
        } catch (RuntimeException failure) {
            Callbacks.remove(registered.user);
            throw failure;
        }
    }

    /** A commutative and associative op on FLOAT32 and FLOAT64. */
    public static ReduceOp user(String name, DoubleBinaryOperator operator) {
        java.util.Objects.requireNonNull(operator, "operator");
        return user(name, (in, inout, dtype) -> {
            if (dtype == DType.FLOAT32) {
                for (int i = 0; i < in.limit(); i += 4) {
                    double result = operator.applyAsDouble(in.getFloat(i), inout.getFloat(i));
                    inout.putFloat(i, (float) result);
                }
            } else if (dtype == DType.FLOAT64) {
                for (int i = 0; i < in.limit(); i += 8) {
                    inout.putDouble(i, operator.applyAsDouble(in.getDouble(i), inout.getDouble(i)));
                }
            } else {
                throw TuttiException.invalid("dtype", dtype + " is neither FLOAT32 nor FLOAT64");
            }
        });
    }

    /** Gives a made op back; operations that were started with it end as if it were still there.
     *  The constants are always there. */
    @Override
    public void close() {
        if (!constant) release();
    }

    /** Its name. */
    @Override
    public String toString() {
        return name;
    }

    int code() {
        return (int) handle();
    }

    /** Adds what the function of an op threw to the failure it led to.
     *  @param op  null: none */
    static TuttiException explain(ReduceOp op, TuttiException failure) {
        if (op == null || op.function == null || failure.status() != Status.BACKEND) return failure;
        Throwable thrown = op.function.thrown;
        op.function.thrown = null; // explains one failure, not those of later calls
        if (thrown != null && failure.getCause() == null) failure.initCause(thrown);
        return failure;
    }

    /** A function that C calls, registered until C says that it no longer will. Does not refer to
     *  the op, which can so be collected. */
    private static final class Function implements Callbacks.Reduce {
        private static final int PIECE = 1 << 14;

        private final ReduceFunction function;
        private final long user = Callbacks.register(this);
        private volatile Throwable thrown;

        Function(ReduceFunction function) {
            this.function = function;
        }

        /** Works on copies of small pieces: what the function keeps of them does no harm. */
        @Override
        public int reduce(long in, long inout, long count, int code, long error) {
            DType dtype = DType.of(code);
            long bytes = count * dtype.size();
            try (Arena arena = Arena.open()) {
                long left = arena.takeAsItIs(PIECE);
                long right = arena.takeAsItIs(PIECE);
                for (long done = 0; done < bytes; done += PIECE) {
                    int piece = (int) Math.min(PIECE, bytes - done);
                    Memory.copy(in + done, left, piece);
                    Memory.copy(inout + done, right, piece);
                    ByteBuffer result = arena.view(right, piece);
                    function.reduce(arena.view(left, piece), result, dtype);
                    Memory.copy(right, inout + done, piece);
                }
                return TUTTI_OK;
            } catch (Throwable failure) {
                thrown = failure;
                return Callbacks.tell(error, failure);
            }
        }
    }
}
