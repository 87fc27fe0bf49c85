#include "config.hpp"

#include <algorithm>
#include <climits>

namespace fake_nccl {

namespace {

class Reader {
public:
    explicit Reader(const ncclConfig_t& config)
        : version_(std::min<unsigned>(config.version, FAKE_NCCL_VERSION)) {}

    void number(const char* name, unsigned since, int value, int least, int most) {
        if (version_ < since || value == NCCL_CONFIG_UNDEF_INT) return;
        is_right = is_right && value >= least && value <= most;
        add(name, std::to_string(value));
    }
    void word(const char* name, unsigned since, const char* value) {
        if (version_ >= since && value != nullptr) add(name, value);
    }

    std::string text;
    bool is_right = true;

private:
    void add(const char* name, const std::string& value) {
        text += (text.empty() ? "" : " ") + std::string(name) + "=" + value;
    }
    const unsigned version_;
};

}  // namespace

bool read_config(const ncclConfig_t& config, std::string& text) {
    if (config.magic != 0xcafebeef || config.version > FAKE_NCCL_VERSION) return false;
    Reader reader(config);
    reader.number("blocking", 21400, config.blocking, 0, 1);
    reader.number("cga_cluster_size", 21700, config.cgaClusterSize, 0, INT_MAX);
    reader.number("min_ctas", 21700, config.minCTAs, 1, INT_MAX);
    reader.number("max_ctas", 21700, config.maxCTAs, 1, INT_MAX);
    reader.word("net_name", 21700, config.netName);
    reader.number("split_share", 21800, config.splitShare, 0, 1);
#if NCCL_VERSION_CODE >= 22800
    constexpr int newest_policy = FAKE_NCCL_VERSION >= 22800 ? 2 : 1;
    reader.number("traffic_class", 22600, config.trafficClass, INT_MIN, INT_MAX);
    reader.number("collnet_enable", 22700, config.collnetEnable, 0, 1);
    reader.number("cta_policy", 22700, config.CTAPolicy, 0, newest_policy);
    reader.number("nvls_ctas", 22700, config.nvlsCTAs, 1, INT_MAX);
    reader.number("channels_per_net_peer", 22800, config.nChannelsPerNetPeer, 1, 64);
    reader.number("nvlink_centric_sched", 22800, config.nvlinkCentricSched, 0, 1);
#endif
    reader.word("comm_name", 22700, comm_name(config));
    text = std::move(reader.text);
    return reader.is_right;
}

const char* comm_name([[maybe_unused]] const ncclConfig_t& config) {
#if NCCL_VERSION_CODE >= 22800
    if (std::min<unsigned>(config.version, FAKE_NCCL_VERSION) >= 22700) return config.commName;
#endif
    return nullptr;
}

}  // namespace fake_nccl
