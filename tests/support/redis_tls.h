/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_REDIS_TLS_H
#define TAMIS_TEST_REDIS_TLS_H

#include <stdbool.h>

/* Certificates for private servers with TLS, made by openssl(1) in a folder of their own. */

/* Whether there are openssl and a redis-server that has TLS. */
bool redis_tls_installed(void);
/* Two authorities, ca and other; of ca a certificate for server and one for client, both of 127.0.0.1 and redis.test;
 * and locked.key, which has a passphrase. Each is NAME.pem and NAME.key. False: openssl failed. */
bool redis_tls_start(void);
void redis_tls_stop(void);
/* The path of a file there. Static storage, until the eighth call after it. */
const char *redis_tls_file(const char *name);
/* A port of 127.0.0.1 that is free, and so is the one 10000 above it. */
int redis_tls_port(void);
/* Options for redis_server_start, NULL at their end: TLS at that port, and after them `more` (may be NULL). The caller
 * frees the array; what is in it stays until redis_tls_stop. */
const char **redis_tls_options(int port, const char *const *more);

#endif
