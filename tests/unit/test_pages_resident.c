/* SPDX-License-Identifier: BSD-2-Clause */
/* The memory reported by a growing table is the memory that the system has given it.
 * ctest: not-sanitized, serial */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "property/filter_model.h"

static const filter_case exact = {"exact", TAMIS_KIND_EXACT, TAMIS_SCHEME_XXH3, true, 0};

enum { BATCH = 1000, PARTITIONS = 256, SPARE = 1 << 20 };

static uint64_t resident(void) {
    unsigned long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%*u %llu", &pages), 1);
    fclose(file);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Each partition ends within a page of its own. (Smaller tables use blocks of the C library, which keeps
 * freed memory.) */
static void resident_memory_is_reported(void **state) {
    (void)state;
    static tamis_hash hashes[BATCH];
    const uint64_t min = 33 << 20, max = model_scale(50, 36) << 20;
    const uint64_t spare = SPARE + PARTITIONS * (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t random = model_seed(79);
    tamis_filter *filter = case_filter(&exact, 0);
    tamis_filter_expect(filter, 1);
    random_hashes(hashes, BATCH, filter_hasher_id(filter), 0, &random);
    const uint64_t before = resident();
    for (uint64_t reported = 0; reported < max; reported = filter_info(filter).memory) {
        random_hashes(hashes, BATCH, filter_hasher_id(filter), 0, &random);
        assert_int_equal(tamis_filter_add_hashes(filter, hashes, BATCH, NULL, NULL, NULL), TAMIS_OK);
        const uint64_t held = resident() - before, memory = filter_info(filter).memory;
        if (memory > min && held > memory + spare)
            fail_msg("%llu bytes are held, %llu told of", (unsigned long long)held,
                     (unsigned long long)memory);
    }
    tamis_filter_free(filter);
    assert_true(resident() < before + SPARE);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(resident_memory_is_reported)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
