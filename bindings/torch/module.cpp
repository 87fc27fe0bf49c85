// The module of Python: the options, and how a backend is made. Everything else comes from
// PyTorch's own class.
#include <torch/csrc/utils/pybind.h>
#include <tutti/torch/dtypes.hpp>

#include <pybind11/chrono.h>

#include "backend.hpp"
#include "objects.hpp"

namespace py = pybind11;
using tutti_torch::GroupOptions;

namespace {

c10::intrusive_ptr<GroupOptions> new_options(const std::string& tutti_backend, bool reproducible) {
    auto options = c10::make_intrusive<GroupOptions>();
    options->tutti_backend = tutti_backend;
    options->reproducible = reproducible;
    return options;
}

// The timeout is that of init_process_group or new_group.
c10::intrusive_ptr<c10d::Backend> create(const c10::intrusive_ptr<c10d::Store>& store,
                                         const std::string& name, int rank, int size,
                                         std::chrono::milliseconds timeout,
                                         std::optional<c10::Device> device,
                                         const c10::intrusive_ptr<GroupOptions>& given) {
    auto options =
        given ? c10::make_intrusive<GroupOptions>(*given) : c10::make_intrusive<GroupOptions>();
    options->timeout = timeout;
    return c10::make_intrusive<tutti_torch::Backend>(
        tutti_torch::Place{store, name, rank, size, device}, std::move(options));
}

}  // namespace

PYBIND11_MODULE(_native, module) {
    py::module_::import("torch.distributed");
    py::class_<GroupOptions, c10d::Backend::Options, c10::intrusive_ptr<GroupOptions>>(
        module, "Options",
        "pg_options of a group: the backend of tutti's that runs it ('': tutti chooses; 'shm', "
        "'tcp', 'hierarchy', 'gloo', ...), and whether its sums are exact.")
        .def(py::init(&new_options), py::arg("tutti_backend") = "", py::arg("reproducible") = false)
        .def_readonly("tutti_backend", &GroupOptions::tutti_backend)
        .def_readonly("reproducible", &GroupOptions::reproducible);
    module.def("create", &create, py::arg("store"), py::arg("name"), py::arg("rank"),
               py::arg("size"), py::arg("timeout"), py::arg("device"), py::arg("options"),
               py::call_guard<py::gil_scoped_release>());
    tutti_torch::add_object_calls(module);
    py::list dtypes;  // by the numbers of tutti/types.h
    for (const auto type : tutti::torch::detail::scalar_types) dtypes.append(py::cast(type));
    module.attr("dtypes") = dtypes;
}
