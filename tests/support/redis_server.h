/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_REDIS_SERVER_H
#define TAMIS_TEST_REDIS_SERVER_H

#include <stdbool.h>

/* A redis-server of the test's own, on a socket in the scratch folder (support/scratch.h), gone with the test however
 * that ends. False where there is none to start: the test skips. */
bool redis_server_start(void);
void redis_server_stop(void);

/* Path of its socket. */
const char *redis_server_socket(void);

/* "redis+unix://SOCKET/" and `rest`. Static storage for the last one. */
const char *redis_server_uri(const char *rest);

#endif
