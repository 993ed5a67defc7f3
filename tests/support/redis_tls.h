/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_REDIS_TLS_H
#define TAMIS_TEST_REDIS_TLS_H

#include <stdbool.h>

/* Certificates for private servers with TLS, made by openssl(1) in a temporary directory. */

/* True if there are openssl and a redis-server with TLS. */
bool redis_tls_installed(void);
/* Makes two authorities, `ca` and `other`, and two certificates signed by ca, `server` and `client`, both
 * for 127.0.0.1 and redis.test. Each is NAME.pem and NAME.key. Also makes locked.key, which has a
 * passphrase. False if openssl failed. */
bool redis_tls_start(void);
void redis_tls_stop(void);
/* Returns the path of a file there. Static storage, until the eighth call after it. */
const char *redis_tls_file(const char *name);
/* Returns a free port of 127.0.0.1. The port 10000 above it is free too. */
int redis_tls_port(void);
/* Returns options for redis_server_start: TLS at that port, then `more` (may be NULL). The caller frees
 * the array; its strings are valid until redis_tls_stop. */
const char **redis_tls_options(int port, const char *const *more);

#endif
