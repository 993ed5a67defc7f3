/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_REDIS_CONNECTION_REDIS_TLS_H
#define TAMIS_STORE_REDIS_CONNECTION_REDIS_TLS_H

#include <stdbool.h>
#include <sys/types.h>

#include "store/redis/connection/redis_uri.h"

/* TLS over a socket that does not block. Nothing of OpenSSL is seen from outside. */

/* Whom to trust, and who we are: for any number of sessions, of any threads. */
typedef struct tamis__tls_context tamis__tls_context;
/* One session. */
typedef struct tamis__tls tamis__tls;

/* Takes the parameters of a URI with TLS:
 *
 *     cacert=FILE          whom to trust, instead of the system's
 *     cert=FILE, key=FILE  our certificate and its key, where the server wants one
 *     sni=NAME             the name that the server's certificate has, where that is not its host
 *     verify=no            any certificate will do: for tests alone
 *
 * TAMIS_E_INVALID, TAMIS_E_IO (a file), TAMIS_E_NOMEM. The URI outlives it. */
tamis_status tamis__tls_context_create(tamis__tls_context **context, tamis__redis_uri *uri, tamis_error *err);
void tamis__tls_context_free(tamis__tls_context *context); /* NULL is fine */

/* A session with `host` over `fd`, which stays the caller's. NULL: out of memory. */
tamis__tls *tamis__tls_create(const tamis__tls_context *context, int fd, const char *host);
void tamis__tls_free(tamis__tls *tls); /* NULL is fine */

/* The next step of the greeting: 0 when it is done, or -1 and errno as the next two; EAGAIN: when *events are there. */
int tamis__tls_handshake(tamis__tls *tls, short *events);
/* As send and recv; -1 and EPROTO: see tamis__tls_error. */
ssize_t tamis__tls_send(tamis__tls *tls, const void *bytes, size_t size);
ssize_t tamis__tls_receive(tamis__tls *tls, void *to, size_t size);

/* What was wrong; *final: it will be the next time, as a certificate that is not trusted. */
const char *tamis__tls_error(const tamis__tls *tls, bool *final);

#endif
