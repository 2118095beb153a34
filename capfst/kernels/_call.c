/* Call kernels from Python.
 *
 * A kernel's entry is a C function `int32_t entry(int64_t *slots)`; it returns 0, or another number if it failed. Python
 * describes it once, as a tuple (types.py has the layouts):
 *
 *     (address, layouts of the arguments, layout of the result, address that gives memory back)
 *
 * A number fills one slot; an array fills one with its address, one for each dimension and, if it need not be
 * contiguous, one for each stride; a tuple fills those of its items. Results come back in the same slots; an array's begin with a handle of its memory, to be given back once. While
 * the kernel runs, other Python threads run, too. Only the public C API of Python and NumPy is used.
 */
#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_1_25_API_VERSION
#define NPY_TARGET_VERSION NPY_1_25_API_VERSION
#include <Python.h>
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>

enum { SLOTS = 256 }; /* the build refuses kernels that need more (jit.py) */
enum { FILLED, OTHER_TYPE = -2, ERROR = -1 };

/* Put a number in a slot, if it is one that the dtype can hold. */
static int put_number(int64_t *slot, PyArray_Descr *dtype, PyObject *value) {
    const char kind = dtype->kind;
    if (kind == 'b') {
        if (PyBool_Check(value)) *slot = value == Py_True;
        else if (PyArray_IsScalar(value, Bool)) *slot = PyObject_IsTrue(value);
        else return OTHER_TYPE;
        return FILLED;
    }
    if (PyBool_Check(value)) return OTHER_TYPE;
    if (kind == 'f') {
        if (!PyFloat_Check(value) && !PyLong_Check(value) && !PyArray_IsScalar(value, Number)) return OTHER_TYPE;
        const double number = PyFloat_AsDouble(value);
        if (number == -1 && PyErr_Occurred()) { PyErr_Clear(); return OTHER_TYPE; }
        memcpy(slot, &number, sizeof number);
        return FILLED;
    }
    PyObject *index = PyLong_CheckExact(value) ? Py_NewRef(value) : PyNumber_Index(value);
    if (!index) { PyErr_Clear(); return OTHER_TYPE; }
    const int unused_bits = 64 - 8 * (int)PyDataType_ELSIZE(dtype);
    int fits = 1;
    if (kind == 'u') {
        const unsigned long long number = PyLong_AsUnsignedLongLong(index);
        fits = !PyErr_Occurred() && number << unused_bits >> unused_bits == number;
        *slot = (int64_t)number;
    } else {
        const int64_t number = PyLong_AsLongLong(index);
        fits = !PyErr_Occurred() && (int64_t)((uint64_t)number << unused_bits) >> unused_bits == number;
        *slot = number;
    }
    PyErr_Clear();
    Py_DECREF(index);
    return fits ? FILLED : OTHER_TYPE;
}

/* Fill slots from a value; return how many, or OTHER_TYPE, or ERROR. */
static Py_ssize_t put(int64_t *slots, Py_ssize_t room, PyObject *layout, PyObject *value) {
    if (PyArray_DescrCheck(layout)) {
        const int status = room > 0 ? put_number(slots, (PyArray_Descr *)layout, value) : OTHER_TYPE;
        return status == FILLED ? 1 : status;
    }
    PyObject *first = PyTuple_GET_ITEM(layout, 0);
    if (PyArray_DescrCheck(first)) {
        if (!PyArray_Check(value)) return OTHER_TYPE;
        PyArrayObject *array = (PyArrayObject *)value;
        PyArray_Descr *dtype = PyArray_DESCR(array), *expected = (PyArray_Descr *)first;
        const int ndim = PyArray_NDIM(array);
        const int is_strided = PyTuple_GET_ITEM(layout, 2) == Py_True;
        if (ndim != PyLong_AsLong(PyTuple_GET_ITEM(layout, 1)) || room <= 2 * ndim
            || (!is_strided && !PyArray_IS_C_CONTIGUOUS(array))
            || (dtype != expected && !PyArray_EquivTypes(dtype, expected)))
            return OTHER_TYPE;
        slots[0] = (int64_t)(intptr_t)PyArray_DATA(array);
        for (int k = 0; k < ndim; k++) slots[1 + k] = PyArray_DIM(array, k);
        if (!is_strided) return 1 + ndim;
        for (int k = 0; k < ndim; k++) slots[1 + ndim + k] = PyArray_STRIDE(array, k);
        return 1 + 2 * ndim;
    }
    PyObject *items = PyTuple_GET_ITEM(layout, 1);
    const Py_ssize_t n = PyTuple_GET_SIZE(items);
    if (!PyTuple_Check(value) || PyTuple_GET_SIZE(value) != n) return OTHER_TYPE;
    Py_ssize_t filled = 0;
    for (Py_ssize_t k = 0; k < n; k++) {
        const Py_ssize_t more = put(slots + filled, room - filled, PyTuple_GET_ITEM(items, k), PyTuple_GET_ITEM(value, k));
        if (more < 0) return more;
        filled += more;
    }
    return filled;
}

typedef void (*GiveBack)(int64_t *slot);

static void give_back(PyObject *capsule) {
    int64_t handle = (int64_t)(intptr_t)PyCapsule_GetPointer(capsule, NULL);
    ((GiveBack)PyCapsule_GetContext(capsule))(&handle);
}

/* Make an array that a kernel returns of its slots, and move them on. If it has no memory of its own, it is one of the
 * arguments. */
static PyObject *take_array(const int64_t **slots, PyArray_Descr *dtype, int ndim, PyObject *args, GiveBack giver) {
    void *memory = (void *)(intptr_t)(*slots)[0], *data = (void *)(intptr_t)(*slots)[1];
    npy_intp shape[NPY_MAXDIMS_LEGACY_ITERS];
    for (int k = 0; k < ndim; k++) shape[k] = (npy_intp)(*slots)[2 + k];
    *slots += 2 + ndim;
    if (!memory) {
        for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(args); k++) {
            PyObject *value = PyTuple_GET_ITEM(args, k);
            if (PyArray_Check(value) && PyArray_DATA((PyArrayObject *)value) == data
                && PyArray_NDIM((PyArrayObject *)value) == ndim
                && PyArray_CompareLists(PyArray_DIMS((PyArrayObject *)value), shape, ndim))
                return Py_NewRef(value);
        }
        PyErr_SetString(PyExc_SystemError, "a kernel returned a part of an argument");
        return NULL;
    }
    PyObject *capsule = PyCapsule_New(memory, NULL, give_back);
    if (!capsule) return NULL;
    PyCapsule_SetContext(capsule, (void *)giver);
    Py_INCREF(dtype);
    PyObject *array = PyArray_NewFromDescr(&PyArray_Type, dtype, ndim, shape, NULL, data, NPY_ARRAY_CARRAY, NULL);
    if (!array) { Py_DECREF(capsule); return NULL; }
    if (PyArray_SetBaseObject((PyArrayObject *)array, capsule) < 0) { Py_DECREF(array); return NULL; }
    return array;
}

/* Make a result of its slots, and move them on. */
static PyObject *take(const int64_t **slots, PyObject *layout, PyObject *args, GiveBack giver) {
    if (layout == Py_None) Py_RETURN_NONE;
    if (PyArray_DescrCheck(layout)) {
        const int64_t number = *(*slots)++;
        switch (((PyArray_Descr *)layout)->kind) {
        case 'b': return PyBool_FromLong(number != 0);
        case 'u': return PyLong_FromUnsignedLongLong((uint64_t)number);
        case 'f': {
            double real;
            memcpy(&real, &number, sizeof real);
            return PyFloat_FromDouble(real);
        }
        default: return PyLong_FromLongLong(number);
        }
    }
    PyObject *first = PyTuple_GET_ITEM(layout, 0);
    if (PyArray_DescrCheck(first)) {
        return take_array(slots, (PyArray_Descr *)first, (int)PyLong_AsLong(PyTuple_GET_ITEM(layout, 1)), args, giver);
    }
    PyObject *items = PyTuple_GET_ITEM(layout, 1);
    const Py_ssize_t n = PyTuple_GET_SIZE(items);
    PyObject *tuple = PyTuple_New(n);
    if (!tuple) return NULL;
    for (Py_ssize_t k = 0; k < n; k++) {
        PyObject *item = take(slots, PyTuple_GET_ITEM(items, k), args, giver);
        if (!item) { Py_DECREF(tuple); return NULL; }
        PyTuple_SET_ITEM(tuple, k, item);
    }
    if (first == (PyObject *)&PyTuple_Type) return tuple;
    PyObject *named = PyObject_CallObject(first, tuple);
    Py_DECREF(tuple);
    return named;
}

PyDoc_STRVAR(call_doc, "call(entry, arguments): what the kernel returns; NotImplemented for arguments of other types, or\n"
                       "that do not fit; Ellipsis if the kernel failed.");

static PyObject *call(PyObject *self, PyObject *const *args, Py_ssize_t n_args) {
    int64_t slots[SLOTS];
    PyObject *entry = args[0];
    const Py_ssize_t filled = put(slots, SLOTS, PyTuple_GET_ITEM(entry, 1), args[1]);
    if (filled == ERROR) return NULL;
    if (filled < 0) Py_RETURN_NOTIMPLEMENTED;
    int32_t (*function)(int64_t *) = (int32_t (*)(int64_t *))PyLong_AsVoidPtr(PyTuple_GET_ITEM(entry, 0));
    GiveBack giver = (GiveBack)PyLong_AsVoidPtr(PyTuple_GET_ITEM(entry, 3));
    int32_t status;
    Py_BEGIN_ALLOW_THREADS
    status = function(slots);
    Py_END_ALLOW_THREADS
    if (status != 0) { Py_INCREF(Py_Ellipsis); return Py_Ellipsis; }
    const int64_t *results = slots;
    return take(&results, PyTuple_GET_ITEM(entry, 2), args[1], giver);
}

PyDoc_STRVAR(level_doc, "level(): 3 if the processor has all of x86-64-v3, 2 if not; 0 on other architectures.");

static PyObject *level(PyObject *self, PyObject *unused) {
#if defined(__x86_64__) || defined(_M_X64)
    __builtin_cpu_init();
    return PyLong_FromLong(__builtin_cpu_supports("x86-64-v3") ? 3 : 2);
#else
    return PyLong_FromLong(0);
#endif
}

static PyMethodDef methods[] = {{"call", (PyCFunction)(void (*)(void))call, METH_FASTCALL, call_doc},
                                {"level", level, METH_NOARGS, level_doc},
                                {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_call", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__call(void) {
    import_array();
    return PyModule_Create(&module);
}
