/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_THREADS_H
#define TAMIS_TEST_THREADS_H

#include <stddef.h>
#include <stdint.h>

/* Runs of a stream are the same for any number of threads: the tests of a program that includes this are run with several
 * numbers of them, in a hurry with two. cmocka.h and scratch.h come first. */

static uint32_t test_threads; /* for tamis_stream_options.threads */

#define test_run_with_threads(tests)                                                                         \
    do {                                                                                                     \
        static const uint32_t counts[] = {1, 4, 2, 7};                                                       \
        int failed = 0;                                                                                      \
        for (size_t i = 0; i < test_scale(4, 2, 2); i++) {                                                   \
            test_threads = counts[i];                                                                        \
            printf("threads: %u\n", (unsigned)test_threads);                                                 \
            failed += cmocka_run_group_tests(tests, NULL, NULL);                                             \
        }                                                                                                    \
        return failed;                                                                                       \
    } while (0)

#endif
