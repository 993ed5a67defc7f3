/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_SINKS_H
#define TAMIS_TEST_SINKS_H

#include <tamis/compat/funnel.h>

/* Sinks with the default allocator. An error fails the test. */

tamis_sink *sink_new(void);
/* Stores the keys of the sink in *keys and returns their number. */
size_t sink_keys(tamis_sink *sink, const tamis_key **keys);
/* Ends the key, checks that it is the only one and has these bytes, and clears the sink. */
void sink_expect(tamis_sink *sink, const char *hex);

#endif
