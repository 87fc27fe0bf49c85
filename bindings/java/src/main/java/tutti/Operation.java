package tutti;

import static tutti.raw.RawConstants.*;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import tutti.raw.Memory;

/** A collective, a message or another operation of a group, which {@link Hooks} are called about. */
public final class Operation {
    private final long id;
    private final String name;
    private final String groupName;
    private final String tagName;
    private final int rank;
    private final int worldSize;
    private final int peer;
    private final long sequenceNumber;
    private final List<Operand> inputs;
    private final List<Operand> outputs;
    private final ReduceOp op;
    private final int tag;
    private final boolean async;
    private volatile boolean over;

    /** Memory that an operation reads or writes. */
    public final class Operand {
        private final DType dtype;
        private final long count;
        private final Device device;
        private final long address;

        private Operand(ByteBuffer from, int place) {
            dtype = DType.of(from.getInt(place + tutti_buffer_dtype));
            count = from.getLong(place + tutti_buffer_count);
            DeviceType type = DeviceType.of(from.getInt(place + tutti_buffer_device_type));
            device = type == DeviceType.CPU ? Device.CPU
                : new Device(type, from.getInt(place + tutti_buffer_device_index));
            address = from.getLong(place + tutti_buffer_data);
        }

        /** The type of the elements. */
        public DType dtype() {
            return dtype;
        }

        /** How many elements there are. */
        public long count() {
            return count;
        }

        /** Where the elements are. */
        public Device device() {
            return device;
        }

        /** The address of the first element. */
        public long address() {
            return address;
        }

        /** The elements where they are, to be read until the hook returns and no longer.
         *  @throws UsageException  if the hook has returned, the elements are on a device, or more
         *                          than a buffer has */
        public ByteBuffer buffer() {
            if (over) throw TuttiException.invalid("operand", "its hook has returned");
            if (device != Device.CPU) throw TuttiException.invalid("operand", "it is on " + device);
            long bytes = count * dtype.size();
            if (bytes > Integer.MAX_VALUE) {
                throw TuttiException.invalid("operand", bytes + " bytes are more than a buffer has");
            }
            ByteBuffer view = bytes == 0 ? ByteBuffer.allocateDirect(0)
                : Memory.view(address, bytes);
            return view.asReadOnlyBuffer().order(ByteOrder.nativeOrder());
        }

        /** Type and count, for instance "FLOAT64[3]". */
        @Override
        public String toString() {
            return dtype + "[" + count + "]";
        }
    }

    /** @param address  of C's operation */
    Operation(long address) {
        ByteBuffer from = view(address, sizeof_tutti_operation);
        id = from.getLong(tutti_operation_id);
        name = Memory.string(from.getLong(tutti_operation_name));
        groupName = Memory.string(from.getLong(tutti_operation_group_name));
        tagName = Memory.string(from.getLong(tutti_operation_tag_name));
        rank = from.getInt(tutti_operation_rank);
        worldSize = from.getInt(tutti_operation_world_size);
        peer = from.getInt(tutti_operation_peer);
        sequenceNumber = from.getLong(tutti_operation_sequence_number);
        inputs = operands(from.getLong(tutti_operation_inputs),
                          from.getLong(tutti_operation_input_count));
        outputs = operands(from.getLong(tutti_operation_outputs),
                           from.getLong(tutti_operation_output_count));
        op = ReduceOp.known(from.getInt(tutti_operation_op));
        tag = from.getInt(tutti_operation_tag);
        async = from.getInt(tutti_operation_is_async) != 0;
    }

    private static ByteBuffer view(long address, long bytes) {
        return Memory.view(address, bytes).order(ByteOrder.nativeOrder());
    }

    private List<Operand> operands(long address, long count) {
        if (count == 0) return List.of();
        ByteBuffer from = view(address, count * sizeof_tutti_buffer);
        List<Operand> list = new ArrayList<>((int) count);
        for (int i = 0; i < count; i++) list.add(new Operand(from, i * sizeof_tutti_buffer));
        return List.copyOf(list);
    }

    /** The hook has returned. */
    void end() {
        over = true;
    }

    /** A number of the operation, from 1 on in this process; the same in all hooks that are called
     *  about it. */
    public long id() {
        return id;
    }

    /** The kind of operation: "all_reduce", "send", ... */
    public String name() {
        return name;
    }

    /** The name of its group, as {@link Group#name} gives it. */
    public String groupName() {
        return groupName;
    }

    /** The name of {@link Group#withTagName}; "" if it has none. */
    public String tagName() {
        return tagName;
    }

    /** This process's rank in the group. */
    public int rank() {
        return rank;
    }

    /** How many ranks the group has. */
    public int worldSize() {
        return worldSize;
    }

    /** The root of a collective, or the other rank of a message; -1 if there is none, and of a
     *  receive from any rank. */
    public int peer() {
        return peer;
    }

    /** Which collective of its group it is, from 1 on; 0 for others. */
    public long sequenceNumber() {
        return sequenceNumber;
    }

    /** The memory that it reads on this rank; objects and bytes are not shown. */
    public List<Operand> inputs() {
        return inputs;
    }

    /** The memory that it writes on this rank; objects and bytes are not shown. */
    public List<Operand> outputs() {
        return outputs;
    }

    /** The op of a reduction, null if it is one that was made; of other operations SUM. */
    public ReduceOp op() {
        return op;
    }

    /** The tag of a message; else 0. */
    public int tag() {
        return tag;
    }

    /** Whether the program has a {@link Work} for it. */
    public boolean isAsync() {
        return async;
    }

    /** For people, for instance "all_reduce of world". */
    @Override
    public String toString() {
        return name + " of " + groupName + (tagName.isEmpty() ? "" : ", \"" + tagName + "\"");
    }
}
