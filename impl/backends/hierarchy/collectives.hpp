// The collectives over several hosts, each in a file of its name: the steps inside the hosts, and
// those between them. On the thread of the call; they throw what Team and Exchange throw.
#pragma once

#include "call_context.hpp"

namespace tutti::hierarchy {

// Over hosts where that helps the call, else over the channel among all ranks.
void run(const CallContext& context, const FlatCall& call);

void barrier(const CallContext& context);
void broadcast(const CallContext& context, Bytes data, int root);
// `output` may be `input`.
void all_reduce(const CallContext& context, ConstBytes input, Bytes output,
                const Reduction& reduction);
// `output` matters on the root only.
void reduce(const CallContext& context, ConstBytes input, Bytes output, int root,
            const Reduction& reduction);
// Lists are by rank, and the lengths may differ. `is_whole`: the pieces follow each other in
// memory, on all ranks.
void all_gather(const CallContext& context, ConstBytes input, std::span<const Bytes> outputs,
                bool is_whole);
void reduce_scatter(const CallContext& context, std::span<const ConstBytes> inputs, Bytes output,
                    const Reduction& reduction, bool is_whole);
// All of one length; the lists are on the root.
void gather(const CallContext& context, ConstBytes input, std::span<const Bytes> outputs, int root);
void scatter(const CallContext& context, std::span<const ConstBytes> inputs, Bytes output,
             int root);
// All of one length. `in_place`: the outputs take the place of the inputs.
void all_to_all(const CallContext& context, std::span<const ConstBytes> inputs,
                std::span<const Bytes> outputs, bool in_place);
void broadcast_byte_string(const CallContext& context, const ByteStrings& call);

}  // namespace tutti::hierarchy
