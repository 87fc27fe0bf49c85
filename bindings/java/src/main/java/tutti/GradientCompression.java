package tutti;

import static tutti.raw.RawConstants.*;

/** How gradients travel, see {@link Reducer#setCompression}. */
public enum GradientCompression {
    /** As they are. */
    NONE(TUTTI_COMPRESSION_NONE),
    /** As FLOAT16, averaged in FLOAT32 (torch: fp16_compress_hook). */
    FLOAT16(TUTTI_COMPRESSION_FLOAT16),
    /** As BFLOAT16, averaged in FLOAT32 (torch: bf16_compress_hook). */
    BFLOAT16(TUTTI_COMPRESSION_BFLOAT16),
    /** As 8-bit numbers with a scale for each bucket and rank (torch:
     *  quantization_pertensor_hook). */
    QUANTISED(TUTTI_COMPRESSION_QUANTISED);

    private final int code;

    GradientCompression(int code) {
        this.code = code;
    }

    int code() {
        return code;
    }
}
