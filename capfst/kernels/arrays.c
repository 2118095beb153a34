/* The memory of arrays that kernels make, as numba's code asks for it.
 *
 * numba's runtime (numba/core/runtime/nrt.cpp) has these functions, too; here they are, so that the library needs neither
 * numba nor C++. The code that numba emits reads `count` and `data` where they are here (nrtdynmod.py:
 * _meminfo_struct_type); should that change, the tests of kernels that make arrays fail.
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
    const uintptr_t begin = (uintptr_t)(memory + 1), beyond = align ? begin % align : 0;
    *memory = (Memory){.count = 1, .data = (void *)(begin + (beyond ? align - beyond : 0)), .size = size};
    return memory;
}

void *NRT_MemInfo_alloc_safe_aligned(size_t size, unsigned align) { return NRT_MemInfo_alloc_aligned(size, align); }

void NRT_MemInfo_call_dtor(Memory *memory) { free(memory); }

/* End a reference that an array of Python's has had: under Python's lock. */
void give_back(Memory *memory) {
    if (--memory->count == 0) free(memory);
}
