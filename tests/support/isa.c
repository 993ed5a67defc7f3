/* SPDX-License-Identifier: BSD-2-Clause */
#include "support/isa.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <tamis/version.h>

bool isa_is_here(tamis__isa isa) {
    tamis__isa chosen = TAMIS__ISA_COUNT;
    if (tamis__isa_choose(tamis__isa_name(isa), &chosen, NULL) != TAMIS_OK)
        return false;
    assert_int_equal(chosen, isa);
    return true;
}

void isa_each(void (*test)(tamis__isa isa)) {
    for (int i = 0; i < TAMIS__ISA_COUNT; i++) {
        if (isa_is_here((tamis__isa)i)) {
            printf("kernels %s\n", tamis__isa_name((tamis__isa)i));
            test((tamis__isa)i);
        }
    }
}

/* Result of a process, in shared memory. */
typedef struct forced {
    size_t size;
    uint8_t bytes[];
} forced;

static void run_forced(const char *name, size_t (*make)(uint8_t *, size_t), forced *into, size_t capacity) {
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        setenv("TAMIS_KERNEL", name, 1);
        if (strcmp(tamis_kernel_name(), name) != 0)
            _exit(3);
        into->size = make(into->bytes, capacity);
        _exit(into->size == 0 || into->size > capacity);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

void isa_each_forced(size_t (*make)(uint8_t *to, size_t capacity), size_t capacity) {
    size_t size = sizeof(forced) + capacity;
    forced *made[2]; /* results of scalar and of another set */
    for (int i = 0; i < 2; i++) {
        made[i] = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        assert_true(made[i] != MAP_FAILED);
    }
    for (int i = 0; i < TAMIS__ISA_COUNT; i++) {
        if (!isa_is_here((tamis__isa)i))
            continue;
        const char *name = tamis__isa_name((tamis__isa)i);
        forced *into = made[i != TAMIS__ISA_SCALAR];
        printf("kernels %s, forced\n", name);
        run_forced(name, make, into, capacity);
        assert_int_equal(into->size, made[0]->size);
        assert_memory_equal(into->bytes, made[0]->bytes, into->size);
    }
    for (int i = 0; i < 2; i++)
        munmap(made[i], size);
}
