/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_REDIS_CONNECTION_REDIS_RESOLVE_H
#define TAMIS_STORE_REDIS_CONNECTION_REDIS_RESOLVE_H

#include <netdb.h>

#include "store/redis/connection/redis_uri.h"

/* The addresses of a host, for freeaddrinfo. TAMIS_E_IO: it has none; TAMIS_E_TIMEOUT: nobody said by the deadline
 * (tamis__now_ns). `shown` names it in sentences. */
tamis_status tamis__resolve(struct addrinfo **found, const tamis__redis_address *address, const char *shown,
                            uint64_t deadline, tamis_error *err);

#endif
