/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_SINKS_H
#define TAMIS_TEST_SINKS_H

#include <tamis/funnel.h>

/* Sinks of the default allocator. What fails here fails the test. */

tamis_sink *sink_new(void);
/* Its keys, and how many they are. */
size_t sink_take(tamis_sink *sink, const tamis_key **keys);
/* Ends the key, sees that it is the only one and has these bytes, and clears. */
void sink_expect(tamis_sink *sink, const char *hex);

#endif
