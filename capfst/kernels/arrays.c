/* The memory of arrays that kernels create: the functions of numba's runtime that compiled code calls.
 *
 * With numba's own (numba/core/runtime/nrt.cpp), libraries would need C++ and Python. numba's code reads `count` and `data`
 * where they are here (nrtdynmod.py: _meminfo_struct_type); if that changes, the tests of kernels that create arrays fail.
 */
#include <stdint.h>
#include <stdlib.h>

typedef struct {
    size_t count; /* of references */
    void (*destructor)(void *, size_t, void *);
    void *destructor_info, *data;
    size_t size;
    void *allocator;
} Memory;

/* The array begins after this, at a multiple of `align`. */
void *NRT_MemInfo_alloc_aligned(size_t size, unsigned align) {
    Memory *memory = size > SIZE_MAX / 2 ? NULL : malloc(sizeof *memory + align + size);
    if (!memory) return NULL;
    const uintptr_t begin = (uintptr_t)(memory + 1), excess = align ? begin % align : 0;
    *memory = (Memory){.count = 1, .data = (void *)(begin + (excess ? align - excess : 0)), .size = size};
    return memory;
}

void *NRT_MemInfo_alloc_safe_aligned(size_t size, unsigned align) { return NRT_MemInfo_alloc_aligned(size, align); }

void NRT_MemInfo_call_dtor(Memory *memory) { free(memory); }

/* Drop the reference of a Python array, which holds Python's lock. */
void give_back(Memory *memory) {
    if (--memory->count == 0) free(memory);
}
