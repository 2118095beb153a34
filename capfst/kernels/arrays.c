/* The memory of arrays that kernels make, as numba's code asks for it.
 *
 * numba's runtime (numba/core/runtime/nrt.cpp) has the same functions; here are the few that compiled kernels call, so
 * that the library needs neither numba nor C++. The code that numba emits reads `count` and `data` where they are here
 * (nrtdynmod.py: _meminfo_struct_type); should that change, the tests of kernels that allocate fail.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct {
    size_t count; /* of references */
    void (*destructor)(void *, size_t, void *);
    void *destructor_info, *data;
    size_t size;
    void *unused;
} Memory;

/* The arrays begin at a multiple of `align`, behind this. */
void *NRT_MemInfo_alloc_aligned(size_t size, unsigned align) {
    Memory *memory;
    if (size > SIZE_MAX - sizeof *memory - align || !(memory = malloc(sizeof *memory + align + size))) return NULL;
    uintptr_t begin = (uintptr_t)(memory + 1);
    if (align) begin = (begin + align - 1) / align * align;
    *memory = (Memory){.count = 1, .data = (void *)begin, .size = size};
    return memory;
}

void *NRT_MemInfo_alloc_safe_aligned(size_t size, unsigned align) { return NRT_MemInfo_alloc_aligned(size, align); }

void NRT_MemInfo_call_dtor(Memory *memory) { free(memory); }
