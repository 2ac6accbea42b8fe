// SPDX-License-Identifier: BSD-3-Clause
// torch_npu._C._distributed_c10d: ProcessGroupHCCL and its Options for Python, under the official names. Documented in
// torch_npu/_C.pyi.
#include "python.h"

#include <pybind11/chrono.h>
#include <torch/csrc/utils/pybind.h>

#include "group.h"

namespace py = pybind11;
using npu::GroupOptions;
using npu::ProcessGroupHCCL;
using std::chrono::milliseconds;

namespace
{

// Destroying a group waits for its operations: not with Python's lock held.
template <class T> class NoGilPtr
{
    c10::intrusive_ptr<T> held;

  public:
    NoGilPtr() = default;
    NoGilPtr(const NoGilPtr &) = default;
    NoGilPtr(NoGilPtr &&) noexcept = default;
    NoGilPtr &operator=(const NoGilPtr &) = default;
    NoGilPtr &operator=(NoGilPtr &&) noexcept = default;
    NoGilPtr(c10::intrusive_ptr<T> held) : held(std::move(held))
    {
    }
    explicit NoGilPtr(T *raw) : held(c10::intrusive_ptr<T>::unsafe_steal_from_new(raw))
    {
    }
    ~NoGilPtr()
    {
        if (held && PyGILState_Check()) {
            py::gil_scoped_release no_gil;
            held.reset();
        }
    }
    T *get() const noexcept
    {
        return held.get();
    }
    T &operator*() const noexcept
    {
        return *held;
    }
    T *operator->() const noexcept
    {
        return held.get();
    }
    operator bool() const noexcept
    {
        return (bool)held;
    }
};

using NoGil = py::call_guard<py::gil_scoped_release>;

} // namespace

PYBIND11_DECLARE_HOLDER_TYPE(T, NoGilPtr<T>, true)

namespace
{

GroupOptions *copy_options(const GroupOptions &options)
{
    return new GroupOptions(options);
}

void bind_options(py::object &group, const py::object &base)
{
    py::class_<GroupOptions, c10::intrusive_ptr<GroupOptions>>(group, "Options", base)
        .def(py::init<bool>(), py::arg("is_high_priority_stream") = false)
        .def_readwrite("is_high_priority_stream", &GroupOptions::is_high_priority_stream)
        .def_readwrite("op_timeout", &GroupOptions::timeout)
        .def_readwrite("global_ranks_in_group", &GroupOptions::global_ranks_in_group)
        .def_readwrite("group_id", &GroupOptions::group_id)
        .def_readwrite("hccl_config", &GroupOptions::hccl_config)
        .def("__copy__", [](const GroupOptions &self) { return copy_options(self); })
        .def(
            "__deepcopy__", [](const GroupOptions &self, const py::dict &) { return copy_options(self); },
            py::arg("memo"));
}

template <class Class> void bind_official_extras(Class &group)
{
    group
        .def(
            "get_hccl_comm_name",
            [](ProcessGroupHCCL &self, int, bool init_comm) {
                return self.comm_name(npu::current_device(), init_comm);
            },
            py::arg("rankid"), py::arg("init_comm") = true, NoGil())
        .def(
            "get_coll_stream_id", [](ProcessGroupHCCL &self, bool) { return self.stream_id(npu::current_device()); },
            py::arg("is_hccl") = true, NoGil())
        .def(
            "_get_stream_id", [](ProcessGroupHCCL &self, bool, int) { return self.stream_id(npu::current_device()); },
            py::arg("p2p") = false, py::arg("peer") = -1, NoGil())
        .def(
            "alltoallvc",
            [](ProcessGroupHCCL &self, at::Tensor output, at::Tensor input,
               const std::vector<std::vector<int64_t>> &matrix,
               const c10d::AllToAllOptions &opts) { return self.alltoallvc(output, input, matrix, opts); },
            py::arg("output"), py::arg("input"), py::arg("send_count_matrix"),
            py::arg("opts") = c10d::AllToAllOptions(), NoGil())
        .def(
            "abort_hccl_comm", [](ProcessGroupHCCL &self, const std::string &) { self.reopen(); },
            py::arg("abort_reason") = "", NoGil())
        .def(
            "resume_hccl_comm", [](ProcessGroupHCCL &self, int) { self.reopen(); }, py::arg("device_id") = -1, NoGil())
        .def("_set_default_timeout", &ProcessGroupHCCL::setTimeout, py::arg("timeout"), NoGil())
        .def(
            "all_gather_into_tensor_uneven",
            [](ProcessGroupHCCL &self, at::Tensor output, at::Tensor input, const std::vector<int64_t> &splits,
               const c10d::AllgatherOptions &opts) { return self.allgather_uneven(output, input, splits, opts); },
            py::arg("output"), py::arg("input"), py::arg("output_split_sizes") = std::vector<int64_t>(),
            py::arg("opts") = c10d::AllgatherOptions(), NoGil())
        .def(
            "reduce_scatter_tensor_uneven",
            [](ProcessGroupHCCL &self, at::Tensor output, at::Tensor input, const std::vector<int64_t> &splits,
               const c10d::ReduceScatterOptions &opts) {
                return self.reduce_scatter_uneven(output, input, splits, opts);
            },
            py::arg("output"), py::arg("input"), py::arg("input_split_sizes") = std::vector<int64_t>(),
            py::arg("opts") = c10d::ReduceScatterOptions(), NoGil());
}

void bind_group(py::module_ &module)
{
    py::module_ theirs = py::module_::import("torch._C._distributed_c10d");
    py::object base = theirs.attr("Backend");
    py::class_<ProcessGroupHCCL, NoGilPtr<ProcessGroupHCCL>> group(module, "ProcessGroupHCCL", base);
    bind_options(group, base.attr("Options"));
    group
        .def(py::init([](const c10::intrusive_ptr<c10d::Store> &store, int rank, int size,
                         const c10::intrusive_ptr<GroupOptions> &options) {
                 return c10::make_intrusive<ProcessGroupHCCL>(store, rank, size, options);
             }),
             py::arg("store"), py::arg("rank"), py::arg("size"), py::arg("options"), NoGil())
        .def(py::init([](const c10::intrusive_ptr<c10d::Store> &store, int rank, int size, milliseconds timeout) {
                 auto options = c10::make_intrusive<GroupOptions>();
                 options->timeout = timeout;
                 return c10::make_intrusive<ProcessGroupHCCL>(store, rank, size, options);
             }),
             py::arg("store"), py::arg("rank"), py::arg("size"),
             py::arg("timeout") = milliseconds(kBackendDefaultTimeout), NoGil())
        .def_property_readonly("options",
                               [](ProcessGroupHCCL &self) {
                                   return c10::dynamic_intrusive_pointer_cast<GroupOptions>(self.getBackendOptions());
                               })
        .def(
            "monitored_barrier",
            [](ProcessGroupHCCL &self, milliseconds timeout, bool wait_all_ranks) {
                c10d::BarrierOptions opts;
                opts.timeout = timeout;
                self.monitoredBarrier(opts, wait_all_ranks);
            },
            py::arg("timeout") = c10d::kUnsetTimeout, py::arg("wait_all_ranks") = false, NoGil())
        .def(
            "perform_nocolor_split", [](ProcessGroupHCCL &, const py::object &) {}, py::arg("device"))
        .def("_reopen", &ProcessGroupHCCL::reopen, NoGil())
        .def("_group_start", &ProcessGroupHCCL::group_start, NoGil())
        .def("_group_end", &ProcessGroupHCCL::group_end, NoGil())
        .def("_wait_for_pending_works", &ProcessGroupHCCL::wait_pending, NoGil())
        .def(
            "_is_failed", [](ProcessGroupHCCL &self) { return self.getError() != c10d::ErrorType::SUCCESS; }, NoGil());
    bind_official_extras(group);
}

void bind_functions(py::module_ &module)
{
    module.def(
        "_dump_hccl_trace",
        [](bool collectives, bool stacks, bool only_active) {
            std::string text;
            {
                py::gil_scoped_release no_gil;
                text = npu::recorder_dump(collectives, stacks, only_active);
            }
            return py::bytes(text);
        },
        py::arg("includeCollectives") = true, py::arg("includeStackTraces") = true, py::arg("onlyActive") = false);
    module.def(
        "_dump_hccl_trace_json",
        [](bool collectives, bool only_active) {
            std::string text;
            {
                py::gil_scoped_release no_gil;
                text = npu::recorder_dump_json(collectives, only_active);
            }
            return py::bytes(text);
        },
        py::arg("includeCollectives") = true, py::arg("onlyActive") = false);
    module.def("_unseen_failure", &npu::Communicator::unseen_failure, NoGil());
    module.def("_reset_hccl_trace", &npu::recorder_reset);
    module.def("_is_support_hccl_comm_name", [] { return npu::hccl().HcclGetCommName != nullptr; });
    // The interface declares more functions than any one CANN has: the names that this one lacks.
    module.def("_missing_functions", [] {
        std::vector<std::string> missing;
#define X(type, name, parameters)                                                                                      \
    if (!npu::hccl().name)                                                                                             \
        missing.push_back(#name);
#include "hccl.def"
#undef X
        return missing;
    });
}

} // namespace

PyObject *add_distributed(PyObject *parent)
{
    try {
        py::object there = py::module_::import("torch.distributed").attr("is_available")();
        auto module = py::reinterpret_borrow<py::module_>(parent).def_submodule("_distributed_c10d");
        if (!there.cast<bool>())
            return module.ptr();
        bind_group(module);
        bind_functions(module);
        return module.ptr();
    } catch (py::error_already_set &error) {
        error.restore();
    } catch (const std::exception &error) {
        PyErr_SetString(PyExc_ImportError, error.what());
    }
    return nullptr;
}
