/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_THREADS_H
#define TAMIS_TEST_THREADS_H

#include <stddef.h>
#include <stdint.h>

/* Runs all tests of a program with several numbers of threads, since a stream must give the same result
 * with any number. Only two numbers if the scale is not full. Include after cmocka.h and scratch.h. */

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
