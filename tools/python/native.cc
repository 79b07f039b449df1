// The part of the Python package that has to be quick: one call of native code per run. Everything else speaks to the C interface through
// ctypes, which this shared object exports, too. Only the stable ABI of Python 3.9 is used, and of NumPy's arrays the fields that NumPy 1
// and 2 have in common.
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x03090000
#include <Python.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "tools/c_api/ampc.h"

namespace {

constexpr size_t kCopied =
    size_t{1} << 16;  // results up to here are copied into new arrays, larger ones are arrays over the results' memory
constexpr int kContiguous = 0x1, kAligned = 0x100;

// The beginning of a NumPy array.
struct Array {
  PyObject_HEAD;
  char* data;
  int rank;
  Py_ssize_t* dims;
  Py_ssize_t* strides;
  PyObject* base;
  PyObject* dtype;
  int flags;
};

// From the package, once: the class of arrays, numpy.empty, what makes an array over memory, and the exceptions by code.
PyObject *array_class = nullptr, *make_empty = nullptr, *make_view = nullptr, *raise_error = nullptr;

// The buffers of one session's runs.
struct Runner {
  const ampc_session* session;
  PyObject* inputs;  // the dtypes of NumPy, in order
  PyObject* outputs;
  std::vector<int32_t> codes;  // of the inputs
};

constexpr char kRunner[] = "ampc.runner", kResults[] = "ampc.results";

PyObject* Setup(PyObject*, PyObject* args) {
  if (!PyArg_ParseTuple(args, "OOOO", &array_class, &make_empty, &make_view, &raise_error)) return nullptr;
  for (PyObject* kept : {array_class, make_empty, make_view, raise_error}) Py_INCREF(kept);
  Py_RETURN_NONE;
}

// prepare(session address, dtypes of inputs, their codes, dtypes of outputs) -> runner
PyObject* Prepare(PyObject*, PyObject* args) {
  PyObject *address, *inputs, *codes, *outputs;
  if (!PyArg_ParseTuple(args, "OO!O!O!", &address, &PyTuple_Type, &inputs, &PyTuple_Type, &codes, &PyTuple_Type, &outputs)) return nullptr;
  const auto* session = static_cast<const ampc_session*>(PyLong_AsVoidPtr(address));
  if (session == nullptr) return nullptr;
  auto* runner = new Runner{session, inputs, outputs, {}};
  for (Py_ssize_t i = 0; i < PyTuple_Size(codes); ++i)
    runner->codes.push_back(static_cast<int32_t>(PyLong_AsLong(PyTuple_GetItem(codes, i))));
  Py_INCREF(inputs);
  Py_INCREF(outputs);
  return PyCapsule_New(runner, kRunner, [](PyObject* capsule) {
    auto* ended = static_cast<Runner*>(PyCapsule_GetPointer(capsule, kRunner));
    Py_DECREF(ended->inputs);
    Py_DECREF(ended->outputs);
    delete ended;
  });
}

// Fills in what `feed` is, an array as it has to be; false for anything else, which the package makes one of.
bool Describe(PyObject* feed, PyObject* dtype, int32_t code, ampc_tensor* tensor) {
  if (Py_TYPE(feed) != reinterpret_cast<PyTypeObject*>(array_class)) return false;
  const auto* array = reinterpret_cast<const Array*>(feed);
  if (array->dtype != dtype || (array->flags & (kContiguous | kAligned)) != (kContiguous | kAligned)) return false;
  static_assert(sizeof(Py_ssize_t) == sizeof(int64_t));
  size_t bytes = ampc_dtype_size(code);
  for (int i = 0; i < array->rank; ++i) bytes *= static_cast<size_t>(array->dims[i]);
  *tensor = {nullptr, code, array->rank, reinterpret_cast<const int64_t*>(array->dims), array->data, bytes};
  return true;
}

PyObject* Raise(ampc_code code) {
  PyObject* raised = PyObject_CallFunction(raise_error, "is", static_cast<int>(code), ampc_error_text());
  Py_XDECREF(raised);
  return nullptr;
}

PyObject* ShapeOf(const ampc_tensor& tensor) {
  PyObject* shape = PyTuple_New(tensor.rank);
  for (int32_t i = 0; shape != nullptr && i < tensor.rank; ++i) PyTuple_SetItem(shape, i, PyLong_FromLongLong(tensor.dims[i]));
  return shape;
}

// `owner` keeps the memory of all results of a run.
PyObject* ArrayOf(const ampc_tensor& tensor, PyObject* dtype, PyObject* owner) {
  PyObject* shape = ShapeOf(tensor);
  if (shape == nullptr) return nullptr;
  PyObject* array = nullptr;
  if (tensor.bytes <= kCopied) {
    array = PyObject_CallFunctionObjArgs(make_empty, shape, dtype, nullptr);
    if (array != nullptr && tensor.bytes > 0) std::memcpy(reinterpret_cast<Array*>(array)->data, tensor.data, tensor.bytes);
  } else {
    array = PyObject_CallFunction(make_view, "KnOOO", static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(tensor.data)),
                                  static_cast<Py_ssize_t>(tensor.bytes), shape, dtype, owner);
  }
  Py_DECREF(shape);
  return array;
}

PyObject* Arrays(const Runner& runner, ampc_results* results) {
  PyObject* owner = PyCapsule_New(
      results, kResults, [](PyObject* capsule) { ampc_free_results(static_cast<ampc_results*>(PyCapsule_GetPointer(capsule, kResults))); });
  if (owner == nullptr) {
    ampc_free_results(results);
    return nullptr;
  }
  const size_t count = ampc_num_results(results);
  PyObject* list = PyList_New(static_cast<Py_ssize_t>(count));
  for (size_t i = 0; list != nullptr && i < count; ++i) {
    ampc_tensor tensor;
    const ampc_code code = ampc_result(results, i, &tensor);
    PyObject* dtype = PyTuple_GetItem(runner.outputs, static_cast<Py_ssize_t>(i));
    PyObject* array = code == AMPC_OK && dtype != nullptr ? ArrayOf(tensor, dtype, owner) : nullptr;
    if (array == nullptr || PyList_SetItem(list, static_cast<Py_ssize_t>(i), array) != 0) {
      Py_DECREF(list);
      list = nullptr;
    }
  }
  Py_DECREF(owner);
  return list;
}

// run(runner, feeds) -> list of arrays in the order of the outputs, or None where a feed is not an array as it has to be
PyObject* Run(PyObject*, PyObject* args) {
  PyObject *capsule, *feeds;
  if (!PyArg_ParseTuple(args, "OO!", &capsule, &PyTuple_Type, &feeds)) return nullptr;
  const auto* runner = static_cast<const Runner*>(PyCapsule_GetPointer(capsule, kRunner));
  if (runner == nullptr) return nullptr;
  constexpr size_t kUsual = 16;
  const size_t count = runner->codes.size();
  ampc_tensor usual[kUsual];
  std::vector<ampc_tensor> many(count > kUsual ? count : 0);
  ampc_tensor* tensors = count > kUsual ? many.data() : usual;
  if (static_cast<size_t>(PyTuple_Size(feeds)) != count) Py_RETURN_NONE;
  for (size_t i = 0; i < count; ++i) {
    const auto at = static_cast<Py_ssize_t>(i);
    if (!Describe(PyTuple_GetItem(feeds, at), PyTuple_GetItem(runner->inputs, at), runner->codes[i], &tensors[i])) Py_RETURN_NONE;
  }
  ampc_results* results = nullptr;
  ampc_code code = AMPC_OK;
  Py_BEGIN_ALLOW_THREADS;
  code = ampc_run_ordered(runner->session, tensors, count, &results);
  Py_END_ALLOW_THREADS;
  return code == AMPC_OK ? Arrays(*runner, results) : Raise(code);
}

PyMethodDef functions[] = {{"setup", Setup, METH_VARARGS, nullptr},
                           {"prepare", Prepare, METH_VARARGS, nullptr},
                           {"run", Run, METH_VARARGS, nullptr},
                           {nullptr, nullptr, 0, nullptr}};

PyModuleDef module = {PyModuleDef_HEAD_INIT, "ampc._native", nullptr, -1, functions, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__native() { return PyModule_Create(&module); }
