// The text of --help, from the table of options. Any thread.
#include "help.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "option_table.hpp"

namespace tutti::launch {

std::string help_text() {
    std::string text =
        "usage: tuttirun [options] [--] program [arguments] [: [options] program ...]\n"
        "\n"
        "Starts several processes of a program, the ranks of a job. It serves the store that the\n"
        "ranks use to connect, forwards their output, and waits until all have ended. It sets the\n"
        "environment variables of torchrun: RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR,\n"
        "MASTER_PORT and others.\n"
        "\n"
        "  tuttirun --nproc-per-node 4 ./program\n"
        "  tuttirun --nproc-per-node 1 train.py : --nproc-per-node 3 ./simulation\n"
        "  tuttirun --nnodes 2 --node-rank R --master-addr HOST_OF_NODE_0 ./program\n"
        "  tuttirun --nnodes 2 --rdzv-backend c10d --rdzv-endpoint HOST ./program\n"
        "  tuttirun --attach RANK [--job PID] [-- arguments of gdb]\n"
        "  tuttirun --stacks [--job PID] [RANK ...]\n"
        "\n"
        "An environment variable sets each option as well: PET_NODE_RANK sets --node-rank.\n";
    constexpr size_t column = 32;
    for (const OptionRow& row : option_table()) {
        if (row.name == nullptr) {
            text += cat("\n", row.help, "\n");
            continue;
        }
        auto line = row.letter == 0 ? cat("  ", row.name) : cat("  -", row.letter, ", ", row.name);
        if (row.value != nullptr) line += cat(" ", row.value);
        line.resize(std::max(line.size() + 1, column), ' ');
        text += cat(line, row.help, "\n");
    }
    text +=
        "\n"
        "Several programs in one job\n"
        "  A lone \":\" ends the arguments of a program, and another one follows. Each has its "
        "own\n"
        "  --nproc-per-node, --role, --module, --run-path and --no-python; the other options\n"
        "  stand before the first program. The local ranks follow the order of the programs. "
        "After\n"
        "  \"--\" a program gets all that follows, \":\" as well.\n"
        "\n"
        "Times of --rdzv-conf KEY=SECONDS,KEY=SECONDS\n"
        "  join_timeout, timeout         how long to wait for all nodes (600)\n"
        "  keep_alive_interval           interval between heartbeats of a node (5)\n"
        "  keep_alive_max_attempt        missed heartbeats after which a node is lost (3); a\n"
        "                                stopped tuttirun sends none\n"
        "\n"
        "If a rank fails (--on-failure)\n"
        "  restart    tuttirun ends the ranks of all nodes, and starts all of them again if a\n"
        "             restart is left (--max-restarts); this is the default\n"
        "  shrink     the other ranks go on. If no rank ends with 0, the job has failed, and all\n"
        "             start again if a restart is left\n"
        "  kill       tuttirun ends the ranks of all nodes, whatever --max-restarts says\n"
        "Each tuttirun reports the rank that failed first: its host, exit code or signal, time\n"
        "and last lines of output; with shrink, also those that failed later.\n"
        "\n"
        "Exit code\n"
        "  0          all ranks succeeded; with --on-failure shrink, at least one\n"
        "  N          the exit code of the rank that failed first\n"
        "  128 + N    signal N killed that rank, or ended the job\n"
        "  1          tuttirun failed, or a node was lost\n"
        "  2          the command line is wrong\n"
        "  127        the program cannot be run\n";
    return text;
}

}  // namespace tutti::launch
