/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_REDIS_CONNECTION_REDIS_TLS_H
#define TAMIS_STORE_REDIS_CONNECTION_REDIS_TLS_H

#include <stdbool.h>
#include <sys/types.h>

#include "store/redis/connection/redis_uri.h"

/* TLS over a non-blocking socket. Callers see no type of OpenSSL. */

/* Trusted certificates, and our own. Any number of sessions, in any threads, share it. */
typedef struct tamis__tls_context tamis__tls_context;
/* The TLS session of one connection. */
typedef struct tamis__tls tamis__tls;

/* Reads the TLS parameters of a URI:
 *
 *     cacert=FILE          trusted certificates, instead of those of the system
 *     cert=FILE, key=FILE  our certificate and its key, for servers that require one
 *     sni=NAME             the name in the server's certificate, if it is not the host
 *     verify=no            accept any certificate; for tests only
 *
 * TAMIS_E_INVALID, TAMIS_E_IO (a file), TAMIS_E_NOMEM. The URI outlives the context. */
tamis_status tamis__tls_context_create(tamis__tls_context **context, tamis__redis_uri *uri, tamis_error *err);
void tamis__tls_context_free(tamis__tls_context *context); /* NULL is fine */

/* Makes a session with `host` over `fd`, which the caller keeps and closes. Returns NULL if out of memory. */
tamis__tls *tamis__tls_create(const tamis__tls_context *context, int fd, const char *host);
void tamis__tls_free(tamis__tls *tls); /* NULL is fine */

/* Continues the handshake. Returns 0 when it is done, else -1 and errno. EAGAIN: poll for *events, then
 * call again. EPROTO: see tamis__tls_error. */
int tamis__tls_handshake(tamis__tls *tls, short *events);
/* Like send and recv. -1 with errno EPROTO: see tamis__tls_error. */
ssize_t tamis__tls_send(tamis__tls *tls, const void *bytes, size_t size);
ssize_t tamis__tls_receive(tamis__tls *tls, void *to, size_t size);

/* Returns the text of the last error. *final: a retry fails too, as with a certificate that is not
 * trusted. */
const char *tamis__tls_error(const tamis__tls *tls, bool *final);

#endif
