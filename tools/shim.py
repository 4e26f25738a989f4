"""The C code that makes a Python module of compiled kernels: it checks arguments, releases Python's lock for all but
short loops, and calls the code.

It knows Numba's calling convention: a kernel gives a status, writes its result and its exception where the first two
arguments say, and takes an array as seven or more values (owner, parent, items, size of one, data, shape, strides).
A tuple is taken as its elements, one after the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from numba import types

if TYPE_CHECKING:
    from tools.build_kernels import Kernel, Variant

_C = {
    types.boolean: ("uint8_t", "b", "as_bool"),
    types.uint8: ("uint8_t", "u", "as_uint8"),
    types.int32: ("int32_t", "i", None),
    types.int64: ("int64_t", "i", "as_int64"),
    types.uint64: ("uint64_t", "u", None),
}

Argument = tuple[list[str], str, list[str]]
"""An argument of a kernel: the C types of its parts, the C code that checks it, and the parts."""

_HEAD = r"""
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030b0000
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_1_25_API_VERSION
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <numpy/arrayobject.h>

#define DATA(o) PyArray_DATA((PyArrayObject *)o)
#define SHAPE(o) PyArray_DIMS((PyArrayObject *)o)
#define STRIDES(o) PyArray_STRIDES((PyArrayObject *)o)

/* Whether an argument is the array that a kernel was compiled for. */
static int fits(PyObject *o, char kind, int size, int ndim, int contiguous, const char *kernel, const char *k) {
    if (PyArray_Check(o)) {
        PyArrayObject *array = (PyArrayObject *)o;
        if (PyArray_DESCR(array)->kind == kind && PyArray_ITEMSIZE(array) == size && PyArray_NDIM(array) == ndim
            && (!contiguous || PyArray_IS_C_CONTIGUOUS(array)) && PyArray_ISBEHAVED(array))
            return 1;
    }
    PyErr_Format(PyExc_TypeError, "%s: argument %s must be a writable array of %c%d with %d dimension(s)%s",
                 kernel, k, kind, size, ndim, contiguous ? ", C-contiguous" : "");
    return 0;
}
static int is_tuple(PyObject *o, Py_ssize_t size, const char *kernel, const char *k) {
    if (PyTuple_Check(o) && PyTuple_Size(o) == size) return 1;
    PyErr_Format(PyExc_TypeError, "%s: argument %s must be a tuple of %zd", kernel, k, size);
    return 0;
}
static int as_int64(PyObject *o, int64_t *v) {
    PyObject *i = PyNumber_Index(o);
    if (!i) return 0;
    *v = PyLong_AsLongLong(i);
    Py_DECREF(i);
    return *v != -1 || !PyErr_Occurred();
}
static int as_uint8(PyObject *o, uint8_t *v) {
    int64_t wide;
    if (!as_int64(o, &wide)) return 0;
    *v = (uint8_t)wide;
    if (*v == wide) return 1;
    PyErr_SetString(PyExc_OverflowError, "a kernel takes a number from 0 to 255 here");
    return 0;
}
static int as_bool(PyObject *o, uint8_t *v) {
    int truth = PyObject_IsTrue(o);
    *v = truth > 0;
    return truth >= 0;
}
static PyObject *wrong_count(const char *kernel, int wanted, Py_ssize_t n) {
    return PyErr_Format(PyExc_TypeError, "%s takes %d arguments, not %zd", kernel, wanted, n);
}

/* An exception as compiled code leaves it: a pickled (class, arguments, place). */
typedef struct { const char *pickled; int32_t size; void *digest, *unwrap; int32_t dynamic; } Problem;

static PyObject *failed(const char *kernel, int32_t status, const Problem *problem) {
    PyObject *pickle = NULL, *parts = NULL;
    if (status > 0 && problem && !problem->dynamic && (pickle = PyImport_ImportModule("pickle"))) {
        parts = PyObject_CallMethod(pickle, "loads", "y#", problem->pickled, (Py_ssize_t)problem->size);
        Py_DECREF(pickle);
    }
    if (parts && PyTuple_Check(parts) && PyTuple_Size(parts) >= 2)
        PyErr_SetObject(PyTuple_GetItem(parts, 0), PyTuple_GetItem(parts, 1));
    else if (!PyErr_Occurred())
        PyErr_Format(PyExc_RuntimeError, "kernel %s failed (%d)", kernel, (int)status);
    Py_XDECREF(parts);
    return NULL;
}

/* What compiled code asks of Numba's runtime: memory that counts its owners. */
typedef struct { size_t owners; void *dtor, *dtor_info, *data; size_t size; } MemInfo;

__attribute__((visibility("hidden"))) void *NRT_MemInfo_alloc_aligned(size_t size, uint32_t align) {
    if (size > SIZE_MAX - sizeof(MemInfo) - align) return NULL;
    MemInfo *info = malloc(sizeof(MemInfo) + size + align);
    if (!info) return NULL;
    uintptr_t data = (uintptr_t)(info + 1);
    if (align) data += (align - data % align) % align;
    *info = (MemInfo){1, NULL, NULL, (void *)data, size};
    return info;
}
__attribute__((visibility("hidden"))) void NRT_MemInfo_call_dtor(void *info) { free(info); }
"""

_HAS_V3 = r"""
#include <cpuid.h>
/* Whether the CPU, and the system that saves its registers, have all of x86-64-v3. */
static int has_v3(void) {
    uint32_t a, b, c, d, low, high;
    const uint32_t leaf1 = bit_FMA | bit_MOVBE | bit_OSXSAVE | bit_AVX | bit_F16C | bit_POPCNT | bit_SSE4_2;
    const uint32_t leaf7 = bit_BMI | bit_AVX2 | bit_BMI2;
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & leaf1) != leaf1) return 0;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (b & leaf7) != leaf7) return 0;
    if (!__get_cpuid(0x80000001, &a, &b, &c, &d) || !(c & 1 << 5)) return 0;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low & 6) == 6;
}
"""


def source(kernels: Sequence[Kernel], variants: Sequence[Variant], made_from: Mapping[str, Any], module: str) -> str:
    """The C file: kernels, CPU variants (the first runs everywhere), and what the module says it was made from."""
    texts = [_HEAD, *(_kernel(kernel, variants if kernel.newer else variants[:1]) for kernel in kernels)]
    if len(variants) > 1:
        texts.append(_HAS_V3)
    return "".join([*texts, _module(kernels, variants, made_from, module)])


def _module(kernels: Sequence[Kernel], variants: Sequence[Variant], made_from: Mapping[str, Any], module: str) -> str:
    """The table of functions, and what happens when the module is loaded."""
    entry = '    {{"{0}", (PyCFunction)(void (*)(void))py_{0}, METH_FASTCALL}},\n'
    rows = "".join(entry.format(kernel.name) for kernel in kernels)
    baseline, *newer = variants
    chosen = "".join(
        f'    if (has_v3()) {{\n        cpu = "{variant.cpu}";\n'
        + "".join(f"        kernel_{one.name} = {one.symbol(variant)};\n" for one in kernels if one.newer)
        + "    }\n"
        for variant in newer
    )
    values = {name: _built_value(value) for name, value in made_from.items()}
    added = "".join(f'    if (!add(made, "{name}", {value})) return NULL;\n' for name, value in values.items())
    return f"""
static PyMethodDef methods[] = {{
{rows}    {{NULL}}
}};
static struct PyModuleDef definition = {{PyModuleDef_HEAD_INIT, "{module}", NULL, -1, methods}};

static int add(PyObject *made, const char *name, PyObject *value) {{
    int done = value && PyModule_AddObjectRef(made, name, value) == 0;
    Py_XDECREF(value);
    if (!done) Py_DECREF(made);
    return done;
}}

PyMODINIT_FUNC PyInit_{module}(void) {{
    const char *cpu = "{baseline.cpu}";
    import_array();
{chosen}    PyObject *made = PyModule_Create(&definition);
    if (!made) return NULL;
    if (!add(made, "CPU", PyUnicode_FromString(cpu))) return NULL;
{added}    return made;
}}
"""


def _built_value(value: str | Mapping[str, str]) -> str:
    if isinstance(value, str):
        return f'PyUnicode_FromString("{value}")'
    pairs = "".join(f', "{name}", "{text}"' for name, text in value.items())
    return f'Py_BuildValue("{{{"ss" * len(value)}}}"{pairs})'


def _kernel(kernel: Kernel, variants: Sequence[Variant]) -> str:
    """One kernel's Python function."""
    name, signature = kernel.name, kernel.signature
    kind, count, answer = _result(signature.return_type)
    parts = [_argument(str(k), f"a[{k}]", type, name) for k, type in enumerate(signature.args)]
    parameters = ", ".join([f"{kind} *", "Problem **", *(text for taken, _, _ in parts for text in taken)])
    checks = "".join(check for _, check, _ in parts)
    values = ", ".join(["result", "&problem", *(text for _, _, given in parts for text in given)])
    declared = "".join(f"extern int32_t {kernel.symbol(variant)}({parameters});\n" for variant in variants)
    return f"""
{declared}static int32_t (*kernel_{name})({parameters}) = {kernel.symbol(variants[0])};
static PyObject *py_{name}(PyObject *self, PyObject *const *a, Py_ssize_t n) {{
    if (n != {len(signature.args)}) return wrong_count("{name}", {len(signature.args)}, n);
{checks}    {kind} result[{count}];
    Problem *problem = NULL;
    PyThreadState *released = {_keeps_lock(kernel)} ? NULL : PyEval_SaveThread();
    int32_t status = kernel_{name}({values});
    if (released) PyEval_RestoreThread(released);
    if (status && status != -2) return failed("{name}", status, problem); /* -2: the result is None */
    return {answer};
}}
"""


def _keeps_lock(kernel: Kernel) -> str:
    """The C condition under which a kernel keeps Python's lock: its loop is soon done.  A first argument without rows
    says nothing: what is walked through then stands in others."""
    return f"(SHAPE(o0)[0] > 0 && SHAPE(o0)[0] <= {kernel.few})" if kernel.few else "0"


def _result(type: Any) -> tuple[str, int, str]:
    """How a result is kept: its C type, how many, and the Python object made of it."""
    if isinstance(type, types.UniTuple) and type.dtype == types.int64:
        each = ", ".join(f"(long long)result[{k}]" for k in range(type.count))
        return "int64_t", type.count, f'Py_BuildValue("({"L" * type.count})", {each})'
    if type == types.none:
        return "void *", 1, "Py_NewRef(Py_None)"
    if type == types.boolean:
        return "uint8_t", 1, "PyBool_FromLong(result[0])"
    if type == types.int64:
        return "int64_t", 1, "PyLong_FromLongLong(result[0])"
    raise NotImplementedError(f"a kernel that gives {type}: teach tools/shim.py to hand it on")


def _argument(place: str, given: str, type: Any, kernel: str) -> Argument:
    """How an argument is taken; `place` says which it is, `given` is the C expression of the Python object."""
    name = f"o{place.replace('.', '_')}"
    if isinstance(type, types.BaseTuple):
        return _tuple(place, name, given, type, kernel)
    ctype, _, read = _C.get(getattr(type, "dtype", type), ("", "", None))
    if isinstance(type, types.Array) and ctype and type.layout in "CA":
        return _array(place, name, given, type, kernel)
    if read is None:
        raise NotImplementedError(f"a kernel that takes {type}: teach tools/shim.py to check it")
    return [ctype], f"    {ctype} {name};\n    if (!{read}({given}, &{name})) return NULL;\n", [name]


def _array(place: str, name: str, given: str, type: Any, kernel: str) -> Argument:
    ctype, kind, _ = _C[type.dtype]
    dimensions, is_contiguous = range(type.ndim), int(type.layout == "C")
    taken = ["void *", "void *", "int64_t", "int64_t", f"{ctype} *", *["int64_t"] * (2 * type.ndim)]
    check = f'fits({name}, \'{kind}\', sizeof({ctype}), {type.ndim}, {is_contiguous}, "{kernel}", "{place}")'
    shape, strides = [f"SHAPE({name})[{d}]" for d in dimensions], [f"STRIDES({name})[{d}]" for d in dimensions]
    values = ["NULL", "NULL", " * ".join(shape), f"sizeof({ctype})", f"DATA({name})", *shape, *strides]
    return taken, f"    PyObject *{name} = {given};\n    if (!{check}) return NULL;\n", values


def _tuple(place: str, name: str, given: str, type: Any, kernel: str) -> Argument:
    """The elements of a tuple, checked one by one after its length."""
    parts = [
        _argument(f"{place}.{k}", f"PyTuple_GetItem({name}, {k})", element, kernel)
        for k, element in enumerate(type.types)
    ]
    check = (
        f"    PyObject *{name} = {given};\n"
        f'    if (!is_tuple({name}, {len(parts)}, "{kernel}", "{place}")) return NULL;\n'
    )
    checks = "".join([check, *(part[1] for part in parts)])
    return [text for part in parts for text in part[0]], checks, [text for part in parts for text in part[2]]
