// Every environment variable that the library and tuttirun read, one row each. What is not in this
// table cannot be read: environment() takes a Variable, which the compiler looks up here. (The
// options of tuttirun and modules of their own are not here: PET_..., TUTTI_<NAME>_MODULE.)
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace tutti {

struct VariableRow {
    const char* name;
    const char* usual;              // what goes without it: a value, or words; null: no setting
    const char* instead = nullptr;  // the variable that counts where this one is not set
};

// A setting has a row in packaging/doc/environment.md with the same default.
inline constexpr std::array variable_table{
    VariableRow{"TUTTI_LOG_LEVEL", "no log", "TORCH_CPP_LOG_LEVEL"},
    VariableRow{"TORCH_CPP_LOG_LEVEL", "no log"},
    VariableRow{"TUTTI_LOG_FORMAT", "text"},
    VariableRow{"TORCH_DISTRIBUTED_DEBUG", "OFF"},
    VariableRow{"TORCH_SHOW_CPP_STACKTRACES", "0"},
    VariableRow{"TUTTI_SOCKET_IFNAME", "all", "GLOO_SOCKET_IFNAME"},
    VariableRow{"GLOO_SOCKET_IFNAME", "all"},
    VariableRow{"TUTTI_TCP_CONNECTIONS", "one for each named interface"},
    VariableRow{"TUTTI_PORT_RANGE", "any free port"},
    VariableRow{"TUTTI_CONNECTION_TIMEOUT_MS", "20000"},
    VariableRow{"TUTTI_STORE_BIND", "the master address"},
    VariableRow{"TUTTI_HEARTBEAT_MS", "100"},
    VariableRow{"TUTTI_HEARTBEAT_TIMEOUT_MS", "1000"},
    VariableRow{"TUTTI_CPU", "the best"},
    VariableRow{"TUTTI_CUDA_LIBRARY", "libcuda.so.1"},
    VariableRow{"TUTTI_CUDA_MODULE", "beside libtutti.so, or tutti/ there"},
    VariableRow{"TUTTI_NCCL_BLOCKING", "1 with NCCL 2.26, else 0"},
    VariableRow{"TUTTI_NCCL_LIBRARY", "libnccl.so.2"},
    VariableRow{"NVTX_INJECTION64_PATH", "no profiler"},
    VariableRow{"TUTTI_PROGRESS", "50"},
    VariableRow{"TUTTI_PLACEMENT", "1"},
    VariableRow{"TUTTI_SHM_ALGORITHMS", "by size"},
    VariableRow{"TUTTI_HOSTS", "the real hosts"},
    VariableRow{"TUTTI_OBJECT_COMPRESSION_LEVEL", "1"},
    VariableRow{"TUTTI_OBJECT_COMPRESSION_THRESHOLD", "4096"},
    VariableRow{"TUTTI_OBJECT_MAX_BYTES", "4 GiB"},
    VariableRow{"TUTTI_OBJECT_MAX_DECOMPRESSED_BYTES", "1 GiB"},
    VariableRow{"TUTTI_OBJECT_MAX_VALUES", "2^26"},
    VariableRow{"TUTTI_OBJECT_MAX_DEPTH", "512"},
    VariableRow{"TUTTI_RECORD_DIR", "the job's or the user's"},
    VariableRow{"TORCH_FR_BUFFER_SIZE", "2000", "TORCH_NCCL_TRACE_BUFFER_SIZE"},
    VariableRow{"TORCH_NCCL_TRACE_BUFFER_SIZE", "2000"},
    VariableRow{"TUTTI_HOOKS", "none"},
    VariableRow{"TORCH_NCCL_NAN_CHECK", "0"},
    VariableRow{"RANK", "none"},
    VariableRow{"WORLD_SIZE", "none"},
    VariableRow{"MASTER_ADDR", "none"},
    VariableRow{"MASTER_PORT", "none"},

    // Launchers set these.
    VariableRow{"TORCHELASTIC_RUN_ID", nullptr},
    VariableRow{"TORCHELASTIC_RESTART_COUNT", nullptr},
    VariableRow{"TORCHELASTIC_USE_AGENT_STORE", nullptr},
    VariableRow{"TUTTI_STORE_SERVED_AT", nullptr},
    VariableRow{"OMPI_COMM_WORLD_RANK", nullptr},
    VariableRow{"OMPI_COMM_WORLD_SIZE", nullptr},
    VariableRow{"OMPI_COMM_WORLD_LOCAL_SIZE", nullptr},
    VariableRow{"OMPI_MCA_ess_base_jobid", nullptr},
    VariableRow{"PMIX_NAMESPACE", nullptr},
    VariableRow{"PMI_RANK", nullptr},
    VariableRow{"PMI_SIZE", nullptr},
    VariableRow{"PMI_JOBID", nullptr},
    VariableRow{"MPI_LOCALNRANKS", nullptr},
    VariableRow{"SLURM_PROCID", nullptr},
    VariableRow{"SLURM_STEP_NUM_TASKS", nullptr},
    VariableRow{"SLURM_STEP_NUM_NODES", nullptr},
    VariableRow{"SLURM_STEP_NODELIST", nullptr},
    VariableRow{"SLURM_JOB_NODELIST", nullptr},
    VariableRow{"SLURM_NODELIST", nullptr},
    VariableRow{"SLURM_JOB_ID", nullptr},
    VariableRow{"SLURM_STEP_ID", nullptr},

    // The system and other libraries have these.
    VariableRow{"PATH", nullptr},
    VariableRow{"TMPDIR", nullptr},
    VariableRow{"XDG_RUNTIME_DIR", nullptr},
    VariableRow{"PYTHON_EXEC", nullptr},
    VariableRow{"CUDA_VISIBLE_DEVICES", nullptr},
    VariableRow{"NCCL_DEBUG", nullptr},
    VariableRow{"NCCL_IB_TIMEOUT", nullptr},
    VariableRow{"NCCL_NTHREADS", nullptr},
    VariableRow{"NCCL_SOCKET_IFNAME", nullptr},
    VariableRow{"NVTX_INJECTION32_PATH", nullptr},

    // Builds for tests and the crate of Rust have these.
    VariableRow{"TUTTI_FAULT", nullptr},
    VariableRow{"TUTTI_LIB_DIR", nullptr},
};

// The name of a variable of the table; any other name does not compile.
class Variable {
public:
    // Not explicit, so that names stay names: environment("TUTTI_CPU").
    consteval Variable(const char* name) : name_(name) {
        for (const VariableRow& row : variable_table) {
            if (std::string_view(row.name) == name) return;
        }
        throw "add the variable to variable_table";
    }
    [[nodiscard]] constexpr const char* name() const { return name_; }
    constexpr operator std::string_view() const { return name_; }

private:
    const char* name_;
};

}  // namespace tutti
