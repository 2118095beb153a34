/* Call kernels from Python.
 *
 * A kernel's entry is a C function (entries.py) that reads its arguments from memory and writes its results to memory:
 *
 *     int32_t entry(const void *arguments, void *results)      0, or another number if it failed
 *
 * types.py computes where each number and array is. While the kernel runs, other threads of Python do, too. Only the
 * limited C API of Python 3.10 and that of NumPy are used, so that one build serves all versions.
 */
#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_1_25_API_VERSION
#define NPY_TARGET_VERSION NPY_1_25_API_VERSION
#include <Python.h>
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>
#ifdef _MSC_VER
#include <windows.h>
#endif

enum { CAPACITY = 8192 };                                    /* of arguments, in bytes: entries.py */
enum { ENTRY, GIVE_BACK, ARGUMENTS, RESULTS, IS_TUPLE, FAILURE, NAME }; /* items of the description: decorators.py */
enum { LEAF_NAME, OFFSET, DTYPE, NDIM, IS_STRIDED };                   /* items of a leaf: types.py */

typedef int32_t (*Entry)(const void *, void *);
typedef void (*GiveBack)(void *);
typedef struct { /* as numba has it */
    void *memory, *parent;
    int64_t n_items, item_size;
    void *data;
    int64_t shape_and_strides[];
} Array;

static PyArray_Descr *dtype_of(PyObject *leaf) { return (PyArray_Descr *)PyTuple_GetItem(leaf, DTYPE); }
static long number_in(PyObject *leaf, int item) { return PyLong_AsLong(PyTuple_GetItem(leaf, item)); }

/* Write a number; return whether the dtype can represent it. */
static int put_number(void *target, PyArray_Descr *dtype, PyObject *value) {
    const int is_bool = PyBool_Check(value) || PyArray_IsScalar(value, Bool), size = (int)PyDataType_ELSIZE(dtype);
    if (is_bool != (dtype->kind == 'b') || PyArray_Check(value)) return 0;
    if (is_bool) {
        *(npy_bool *)target = (npy_bool)PyObject_IsTrue(value);
    } else if (dtype->kind == 'f') {
        const double number = PyFloat_AsDouble(value);
        if (size == sizeof(float)) *(float *)target = (float)number;
        else *(double *)target = number;
    } else {
        PyObject *index = PyNumber_Index(value);
        if (!index) return 0;
        const int is_signed = dtype->kind == 'i', unused = 64 - 8 * size;
        const uint64_t bits = is_signed ? (uint64_t)PyLong_AsLongLong(index) : PyLong_AsUnsignedLongLong(index);
        const uint64_t high = bits << unused;
        Py_DECREF(index);
        memcpy(target, &bits, size); /* all processors that capfst is built for are little-endian */
        if (bits != (is_signed ? (uint64_t)((int64_t)high >> unused) : high >> unused)) return 0;
    }
    return !PyErr_Occurred();
}

/* Write an array; return whether it is of the leaf's type. */
static int put_array(Array *target, PyObject *leaf, PyObject *value) {
    const long ndim = number_in(leaf, NDIM);
    PyArrayObject *array = (PyArrayObject *)value;
    if (!PyArray_Check(value) || PyArray_NDIM(array) != ndim) return 0;
    if (!PyArray_IS_C_CONTIGUOUS(array) && !number_in(leaf, IS_STRIDED)) return 0;
    if (PyArray_DESCR(array) != dtype_of(leaf) && !PyArray_EquivTypes(PyArray_DESCR(array), dtype_of(leaf))) return 0;
    *target = (Array){.n_items = PyArray_SIZE(array), .item_size = PyArray_ITEMSIZE(array), .data = PyArray_DATA(array)};
    memcpy(target->shape_and_strides, PyArray_DIMS(array), ndim * sizeof(int64_t));
    memcpy(target->shape_and_strides + ndim, PyArray_STRIDES(array), ndim * sizeof(int64_t));
    return 1;
}

/* Write a value, from leaf `next` on; return the next leaf, or −1 with TypeError. */
static Py_ssize_t put(char *arguments, PyObject *kernel, Py_ssize_t next, PyObject *value) {
    PyObject *leaves = PyTuple_GetItem(kernel, ARGUMENTS), *name = PyTuple_GetItem(kernel, NAME);
    if (PyTuple_Check(value)) {
        for (Py_ssize_t k = 0; k < PyTuple_Size(value) && next >= 0; k++)
            next = put(arguments, kernel, next, PyTuple_GetItem(value, k));
        return next;
    }
    if (next == PyTuple_Size(leaves)) {
        PyErr_Format(PyExc_TypeError, "%U takes %zd numbers and arrays, not more", name, next);
        return -1;
    }
    PyObject *leaf = PyTuple_GetItem(leaves, next);
    void *target = arguments + number_in(leaf, OFFSET);
    if (number_in(leaf, NDIM) ? put_array(target, leaf, value) : put_number(target, dtype_of(leaf), value)) return next + 1;
    PyErr_Clear();
    PyObject *leaf_name = PyTuple_GetItem(leaf, LEAF_NAME);
    PyArrayObject *array = (PyArrayObject *)value;
    if (PyArray_Check(value))
        PyErr_Format(PyExc_TypeError, "%U: %U must be %S, not an array%s of %S, %d-dimensional", name, leaf_name, leaf,
                     PyArray_IS_C_CONTIGUOUS(array) ? "" : " with gaps", PyArray_DESCR(array), PyArray_NDIM(array));
    else PyErr_Format(PyExc_TypeError, "%U: %U must be %S, not %.99R", name, leaf_name, leaf, value);
    return -1;
}

static void free_array(PyObject *capsule) {
    ((GiveBack)PyCapsule_GetContext(capsule))(PyCapsule_GetPointer(capsule, NULL));
}

/* Make a Python object of an array; one without memory of its own is one of the arguments. */
static PyObject *take_array(const Array *source, PyObject *leaf, PyObject *arguments, GiveBack give_back) {
    for (Py_ssize_t k = 0; !source->memory && k < PyTuple_Size(arguments); k++) {
        PyObject *value = PyTuple_GetItem(arguments, k);
        if (PyArray_Check(value) && PyArray_DATA((PyArrayObject *)value) == source->data) return Py_NewRef(value);
    }
    PyObject *capsule = PyCapsule_New(source->memory, NULL, free_array); /* ValueError for a part of an argument */
    if (!capsule) return NULL;
    PyCapsule_SetContext(capsule, (void *)give_back);
    Py_INCREF(dtype_of(leaf));
    PyObject *array = PyArray_NewFromDescr(&PyArray_Type, dtype_of(leaf), (int)number_in(leaf, NDIM),
                                           (npy_intp *)source->shape_and_strides, NULL, source->data, NPY_ARRAY_CARRAY, NULL);
    if (!array) Py_DECREF(capsule);
    else if (PyArray_SetBaseObject((PyArrayObject *)array, capsule)) Py_CLEAR(array);
    return array;
}

/* Make a Python object of a number. */
static PyObject *take_number(const void *source, PyArray_Descr *dtype) {
    const int size = (int)PyDataType_ELSIZE(dtype), unused = 64 - 8 * size;
    if (dtype->kind == 'b') return PyBool_FromLong(*(npy_bool *)source);
    if (dtype->kind == 'f') return PyFloat_FromDouble(size == sizeof(float) ? *(float *)source : *(double *)source);
    uint64_t bits = 0;
    memcpy(&bits, source, size);
    if (dtype->kind == 'u') return PyLong_FromUnsignedLongLong(bits);
    return PyLong_FromLongLong((int64_t)(bits << unused) >> unused);
}

PyDoc_STRVAR(call_doc, "Call a kernel, given its description and the tuple of its arguments. Raises: TypeError.");

static PyObject *call(PyObject *self, PyObject *const *args, Py_ssize_t n_args) {
    PyObject *kernel = args[0], *leaves = PyTuple_GetItem(kernel, RESULTS), *name = PyTuple_GetItem(kernel, NAME);
    union { char bytes[CAPACITY]; int64_t words[1]; } arguments, results;
    const Py_ssize_t n = PyTuple_Size(PyTuple_GetItem(kernel, ARGUMENTS)), given = put(arguments.bytes, kernel, 0, args[1]);
    if (given < 0) return NULL;
    if (given < n) return PyErr_Format(PyExc_TypeError, "%U takes %zd numbers and arrays, not %zd", name, n, given);
    Entry entry = (Entry)PyLong_AsVoidPtr(PyTuple_GetItem(kernel, ENTRY));
    GiveBack give_back = (GiveBack)PyLong_AsVoidPtr(PyTuple_GetItem(kernel, GIVE_BACK));
    int32_t status;
    Py_BEGIN_ALLOW_THREADS
    status = entry(&arguments, &results);
    Py_END_ALLOW_THREADS
    if (status) return PyErr_Format(PyTuple_GetItem(kernel, FAILURE), "%U failed", name);
    PyObject *values = PyTuple_New(PyTuple_Size(leaves));
    for (Py_ssize_t k = 0; values && k < PyTuple_Size(leaves); k++) {
        PyObject *leaf = PyTuple_GetItem(leaves, k);
        const void *source = results.bytes + number_in(leaf, OFFSET);
        PyObject *value = number_in(leaf, NDIM) ? take_array(source, leaf, args[1], give_back)
                                                : take_number(source, dtype_of(leaf));
        if (value) PyTuple_SetItem(values, k, value);
        else Py_CLEAR(values);
    }
    if (!values || PyTuple_GetItem(kernel, IS_TUPLE) == Py_True) return values;
    PyObject *value = Py_NewRef(PyTuple_Size(values) ? PyTuple_GetItem(values, 0) : Py_None);
    Py_DECREF(values);
    return value;
}

PyDoc_STRVAR(level_doc, "Return 3 if this is an x86-64 processor of level 3, 2 otherwise.");

static PyObject *level(PyObject *self, PyObject *unused) {
    int is_v3 = 0;
    /* All processors with these have the rest of level 3. */
#if defined(__x86_64__)
    is_v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
#elif defined(_M_X64)
    is_v3 = IsProcessorFeaturePresent(PF_AVX2_INSTRUCTIONS_AVAILABLE);
#endif
    return PyLong_FromLong(is_v3 ? 3 : 2);
}

static PyMethodDef methods[] = {{"call", (PyCFunction)(void (*)(void))call, METH_FASTCALL, call_doc},
                                {"level", level, METH_NOARGS, level_doc},
                                {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_call", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__call(void) {
    import_array();
    return PyModule_Create(&module);
}
