// The choice of processors for the ranks of a node. Any thread.
#include "binding.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "base/first_line.hpp"

namespace tutti::launch {

namespace {

// A list is "0-3,8,10-11", as the kernel writes it.
bool is_in_list(int processor, const std::string& list) {
    const char* at = list.data();
    const char* const end = at + list.size();
    while (at < end) {
        int first = 0;
        auto read = std::from_chars(at, end, first);
        if (read.ec != std::errc()) return false;
        int last = first;
        if (read.ptr < end && *read.ptr == '-') read = std::from_chars(read.ptr + 1, end, last);
        if (read.ec != std::errc()) return false;
        if (first <= processor && processor <= last) return true;
        at = read.ptr + 1;  // the comma
    }
    return false;
}

// The number in "node12"; -1: another name.
int number_of_node(const std::string& name) {
    constexpr std::string_view start = "node";
    int number = -1;
    if (!name.starts_with(start)) return -1;
    const char* const end = name.data() + name.size();
    const auto read = std::from_chars(name.data() + start.size(), end, number);
    return read.ec == std::errc() && read.ptr == end ? number : -1;
}

// By NUMA nodes, in the order of their numbers; at the end those that no node lists. Nodes without
// any of the processors are left out.
std::vector<ProcessorSet> by_node(ProcessorSet processors, const std::string& root) {
    std::map<int, std::string> lists;
    std::error_code none;
    for (const auto& entry :
         std::filesystem::directory_iterator(root + "/sys/devices/system/node", none)) {
        const int number = number_of_node(entry.path().filename());
        if (number >= 0) lists[number] = first_line(entry.path() / "cpulist");
    }
    std::vector<ProcessorSet> nodes;
    for (const auto& [number, list] : lists) {
        const auto rest = std::stable_partition(
            processors.begin(), processors.end(),
            [&list = list](int processor) { return is_in_list(processor, list); });
        if (rest != processors.begin()) nodes.emplace_back(processors.begin(), rest);
        processors.erase(processors.begin(), rest);
    }
    if (!processors.empty()) nodes.push_back(std::move(processors));
    return nodes;
}

// The list of the hardware threads of a processor's core, the same for all of them; itself where
// the system does not tell.
std::string core_of(int processor, const std::string& root) {
    const auto folder = cat(root, "/sys/devices/system/cpu/cpu", processor, "/topology/");
    auto list = first_line(folder + "core_cpus_list");
    if (list.empty()) list = first_line(folder + "thread_siblings_list");  // before Linux 5.3
    return list.empty() ? std::to_string(processor) : list;
}

// By physical cores. Neighbours are on the same node.
std::vector<ProcessorSet> by_core(const ProcessorSet& processors, const std::string& root) {
    std::vector<ProcessorSet> cores;
    std::map<std::string, size_t> indices;
    for (const auto& node : by_node(processors, root)) {
        for (const int processor : node) {
            const auto [entry, is_new] = indices.emplace(core_of(processor, root), cores.size());
            if (is_new) cores.emplace_back();
            cores[entry->second].push_back(processor);
        }
    }
    return cores;
}

std::vector<ProcessorSet> blocks_of_cores(const std::vector<ProcessorSet>& cores, size_t ranks) {
    std::vector<ProcessorSet> blocks(ranks);
    for (size_t rank = 0; rank < ranks; ++rank) {
        auto& block = blocks[rank];
        const size_t end = (rank + 1) * cores.size() / ranks;
        for (size_t core = rank * cores.size() / ranks; core < end; ++core) {
            block.insert(block.end(), cores[core].begin(), cores[core].end());
        }
        std::ranges::sort(block);
    }
    return blocks;
}

}  // namespace

std::vector<ProcessorSet> choose_processors(BindTo bind_to, int ranks, const ProcessorSet& allowed,
                                            const std::string& root) {
    if (bind_to == BindTo::None) return {};
    if (allowed.empty()) refuse("--bind-to: the system does not tell which processors there are");
    const auto count = static_cast<size_t>(ranks);
    if (bind_to == BindTo::Core) {
        const auto cores = by_core(allowed, root);
        if (count <= cores.size()) return blocks_of_cores(cores, count);
        refuse("--bind-to core: ", ranks,
               " ranks on this node need a core each, and tuttirun may use ", cores.size());
    }
    const auto nodes = by_node(allowed, root);
    if (nodes.size() == 1) return {};
    std::vector<ProcessorSet> sets;
    for (size_t rank = 0; rank < count; ++rank) sets.push_back(nodes[rank * nodes.size() / count]);
    return sets;
}

}  // namespace tutti::launch
