// The end of an attempt, the same on all nodes: the first to say so decides. Any thread.
#pragma once

#include <string>

namespace tutti::launch {

struct Verdict {
    enum class Kind {
        Done,    // all ranks of all nodes have ended well
        Failed,  // a rank of `node` failed
        Signal,  // the tuttirun of `node` got `signal`
        Lost,    // `node` is silent; -1: this node cannot reach the store
    };
    Kind kind = Kind::Done;
    int node = -1;
    std::string host = {};  // of the node
    int signal = 0;
    std::string text = {};  // why it is lost
};

std::string encode(const Verdict& verdict);
// INVALID_ARGUMENT if `text` is none.
Verdict decode_verdict(const std::string& text);

}  // namespace tutti::launch
