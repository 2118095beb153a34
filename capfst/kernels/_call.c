/* Call kernels from Python.
 *
 * A kernel's entry is a C function of a row of slots, seen as integers, as floats and as addresses:
 *
 *     int32_t entry(int64_t *slots, double *slots, void **slots)      0, or another number if it failed
 *
 * Arguments fill the slots in order: a number one; an array one with its address, one for each dimension and, if it may
 * be strided, one for each stride; a tuple those of its items. Results are there afterwards: a number in one slot; an
 * array in its memory, which give_back (arrays.c) ends, its address and its dimensions. While the kernel runs, other
 * threads of Python do, too. Only the stable C API of Python (the limited one, from 3.10 on) and that of NumPy are used,
 * so that one build is good for all versions.
 */
#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_1_25_API_VERSION
#define NPY_TARGET_VERSION NPY_1_25_API_VERSION
#include <Python.h>
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>

enum { SLOTS = 256, DIMENSIONS = 3 }; /* at most: entries.py refuses more slots, types.py has no more dimensions */
enum { ADDRESS, GIVE_BACK, LEAVES, RESULTS, IS_TUPLE, FAILURE, NAME }; /* of an entry: decorators.py */
enum { DTYPE, NDIM, IS_STRIDED };                                      /* of a leaf: types.py */

typedef int32_t (*Entry)(int64_t *, double *, void **);
typedef void (*GiveBack)(void *);
typedef struct {
    union { int64_t i[SLOTS]; double f[SLOTS]; void *p[SLOTS]; };
    int n;
    PyObject *leaves;
    Py_ssize_t leaf;
} Row;

/* Put a number in a slot; return whether it is one that the dtype can hold. */
static int put_number(int64_t *slot, PyArray_Descr *dtype, PyObject *value) {
    const int spare = 64 - 8 * (int)PyDataType_ELSIZE(dtype);
    if (PyBool_Check(value) || PyArray_IsScalar(value, Bool)) {
        *slot = PyObject_IsTrue(value);
        return dtype->kind == 'b';
    }
    if (dtype->kind == 'f' && (PyFloat_Check(value) || PyLong_Check(value) || PyArray_IsScalar(value, Number))) {
        const double number = PyFloat_AsDouble(value);
        memcpy(slot, &number, sizeof number);
    } else {
        PyObject *index = dtype->kind == 'i' || dtype->kind == 'u' ? PyNumber_Index(value) : NULL;
        if (!index) { PyErr_Clear(); return 0; }
        *slot = dtype->kind == 'u' ? (int64_t)PyLong_AsUnsignedLongLong(index) : PyLong_AsLongLong(index);
        Py_DECREF(index);
    }
    if (PyErr_Occurred()) { PyErr_Clear(); return 0; }
    const uint64_t high = (uint64_t)*slot << spare; /* the bits that the dtype has, at the top */
    if (dtype->kind == 'u') return (int64_t)(high >> spare) == *slot;
    return dtype->kind == 'f' || (int64_t)high >> spare == *slot;
}

/* Put a value in the next slots; return whether it is of the types that are expected. */
static int put(Row *row, PyObject *value) {
    if (PyTuple_Check(value)) {
        for (Py_ssize_t k = 0, n = PyTuple_Size(value); k < n; k++)
            if (!put(row, PyTuple_GetItem(value, k))) return 0;
        return 1;
    }
    if (row->leaf == PyTuple_Size(row->leaves)) return 0;
    PyObject *leaf = PyTuple_GetItem(row->leaves, row->leaf++);
    PyArray_Descr *dtype = (PyArray_Descr *)PyTuple_GetItem(leaf, DTYPE);
    const long ndim = PyLong_AsLong(PyTuple_GetItem(leaf, NDIM));
    if (!ndim) return put_number(row->i + row->n++, dtype, value);
    const int is_strided = PyTuple_GetItem(leaf, IS_STRIDED) == Py_True;
    PyArrayObject *array = (PyArrayObject *)value;
    if (!PyArray_Check(value) || PyArray_NDIM(array) != ndim || !(is_strided || PyArray_IS_C_CONTIGUOUS(array))
        || !(PyArray_DESCR(array) == dtype || PyArray_EquivTypes(PyArray_DESCR(array), dtype)))
        return 0;
    row->p[row->n++] = PyArray_DATA(array);
    for (int k = 0; k < ndim; k++) row->i[row->n++] = PyArray_DIM(array, k);
    for (int k = 0; k < ndim && is_strided; k++) row->i[row->n++] = PyArray_STRIDE(array, k);
    return 1;
}

static void release(PyObject *capsule) {
    ((GiveBack)PyCapsule_GetContext(capsule))(PyCapsule_GetPointer(capsule, NULL));
}

/* Make an array of the next slots. If it has no memory of its own, it is one of the arguments. */
static PyObject *take_array(Row *row, PyArray_Descr *dtype, int ndim, PyObject *args, GiveBack give_back) {
    void *memory = row->p[row->n], *data = row->p[row->n + 1];
    npy_intp shape[DIMENSIONS];
    for (int k = 0; k < ndim; k++) shape[k] = (npy_intp)row->i[row->n + 2 + k];
    row->n += 2 + ndim;
    for (Py_ssize_t k = 0; !memory && k < PyTuple_Size(args); k++) {
        PyObject *value = PyTuple_GetItem(args, k);
        if (PyArray_Check(value) && PyArray_DATA((PyArrayObject *)value) == data) return Py_NewRef(value);
    }
    PyObject *capsule = PyCapsule_New(memory, NULL, release); /* SystemError for a part of an argument */
    if (!capsule) return NULL;
    PyCapsule_SetContext(capsule, (void *)give_back);
    Py_INCREF(dtype);
    PyObject *array = PyArray_NewFromDescr(&PyArray_Type, dtype, ndim, shape, NULL, data, NPY_ARRAY_CARRAY, NULL);
    if (!array) Py_DECREF(capsule);
    else if (PyArray_SetBaseObject((PyArrayObject *)array, capsule)) Py_CLEAR(array);
    return array;
}

/* Make a result of the next slots. */
static PyObject *take(Row *row, PyObject *leaf, PyObject *args, GiveBack give_back) {
    PyArray_Descr *dtype = (PyArray_Descr *)PyTuple_GetItem(leaf, DTYPE);
    const int ndim = (int)PyLong_AsLong(PyTuple_GetItem(leaf, NDIM));
    if (ndim) return take_array(row, dtype, ndim, args, give_back);
    const int k = row->n++;
    switch (dtype->kind) {
    case 'b': return PyBool_FromLong(row->i[k] != 0);
    case 'f': return PyFloat_FromDouble(row->f[k]);
    case 'u': return PyLong_FromUnsignedLongLong((uint64_t)row->i[k]);
    default: return PyLong_FromLongLong(row->i[k]);
    }
}

PyDoc_STRVAR(call_doc, "call(entry, arguments): what the kernel returns; NotImplemented for other types of arguments.");

static PyObject *call(PyObject *self, PyObject *const *args, Py_ssize_t n_args) {
    PyObject *entry = args[0], *leaves = PyTuple_GetItem(entry, LEAVES), *results = PyTuple_GetItem(entry, RESULTS);
    Row row = {.n = 0, .leaves = leaves, .leaf = 0};
    if (!put(&row, args[1]) || row.leaf != PyTuple_Size(leaves)) Py_RETURN_NOTIMPLEMENTED;
    Entry function = (Entry)PyLong_AsVoidPtr(PyTuple_GetItem(entry, ADDRESS));
    GiveBack give_back = (GiveBack)PyLong_AsVoidPtr(PyTuple_GetItem(entry, GIVE_BACK));
    int32_t status;
    Py_BEGIN_ALLOW_THREADS
    status = function(row.i, row.f, row.p);
    Py_END_ALLOW_THREADS
    if (status) return PyErr_Format(PyTuple_GetItem(entry, FAILURE), "%U failed", PyTuple_GetItem(entry, NAME));
    const Py_ssize_t n = PyTuple_Size(results);
    row.n = 0;
    if (PyTuple_GetItem(entry, IS_TUPLE) == Py_False)
        return n ? take(&row, PyTuple_GetItem(results, 0), args[1], give_back) : Py_NewRef(Py_None);
    PyObject *tuple = PyTuple_New(n);
    for (Py_ssize_t k = 0; tuple && k < n; k++) {
        PyObject *item = take(&row, PyTuple_GetItem(results, k), args[1], give_back);
        if (!item) { Py_DECREF(tuple); return NULL; }
        PyTuple_SetItem(tuple, k, item);
    }
    return tuple;
}

PyDoc_STRVAR(fits_doc, "fits(leaf, value): whether a kernel can be called with the value there.");

static PyObject *fits(PyObject *self, PyObject *const *args, Py_ssize_t n_args) {
    Row row = {.n = 0, .leaves = PyTuple_Pack(1, args[0]), .leaf = 0};
    if (!row.leaves) return NULL;
    const int found = put(&row, args[1]);
    Py_DECREF(row.leaves);
    return PyBool_FromLong(found);
}

PyDoc_STRVAR(level_doc, "level(): 3 if the processor has all of x86-64-v3, 2 if not; 0 on other architectures.");

/* Compilers differ in what they have for this, and zig's always answers no. */
#if defined(_MSC_VER) && defined(_M_X64)
#include <intrin.h>
static void cpuid(unsigned leaf, unsigned *r) { __cpuidex((int *)r, (int)leaf, 0); }
static unsigned saved(void) { return (unsigned)_xgetbv(0); }
#elif defined(__x86_64__)
#include <cpuid.h>
static void cpuid(unsigned leaf, unsigned *r) { __cpuid_count(leaf, 0, r[0], r[1], r[2], r[3]); }
static unsigned saved(void) {
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}
#endif

static PyObject *level(PyObject *self, PyObject *unused) {
#if defined(_M_X64) || defined(__x86_64__)
    enum { FMA = 1 << 12, MOVBE = 1 << 22, OSXSAVE = 1 << 27, AVX = 1 << 28, F16C = 1 << 29, BMI = 1 << 3, AVX2 = 1 << 5 };
    enum { BMI2 = 1 << 8, LZCNT = 1 << 5, XMM_AND_YMM = 6 };
    const unsigned first = FMA | MOVBE | OSXSAVE | AVX | F16C, seventh = BMI | AVX2 | BMI2;
    unsigned leaf0[4], leaf1[4], leaf7[4], extended[4]; /* of eax, ebx, ecx, edx */
    cpuid(0, leaf0), cpuid(1, leaf1), cpuid(7, leaf7), cpuid(0x80000001, extended);
    const int is_v3 = leaf0[0] >= 7 && (leaf1[2] & first) == first && (saved() & XMM_AND_YMM) == XMM_AND_YMM
                      && (leaf7[1] & seventh) == seventh && (extended[2] & LZCNT);
    return PyLong_FromLong(is_v3 ? 3 : 2);
#else
    return PyLong_FromLong(0);
#endif
}

static PyMethodDef methods[] = {{"call", (PyCFunction)(void (*)(void))call, METH_FASTCALL, call_doc},
                                {"fits", (PyCFunction)(void (*)(void))fits, METH_FASTCALL, fits_doc},
                                {"level", level, METH_NOARGS, level_doc},
                                {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_call", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__call(void) {
    import_array();
    return PyModule_Create(&module);
}
