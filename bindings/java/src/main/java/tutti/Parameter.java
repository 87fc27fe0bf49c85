package tutti;

import java.util.Objects;

/** A parameter of a model, for {@link Reducer#create}.
 *  @param name    what messages call it
 *  @param values  its elements; those of all parameters are on the CPU, or all on one device */
public record Parameter(String name, Tensor values) {
    /** Neither is null. */
    public Parameter {
        Objects.requireNonNull(name, "name");
        Objects.requireNonNull(values, "values");
    }
}
