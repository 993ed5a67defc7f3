/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_REDIS_CONNECTION_REDIS_RESOLVE_H
#define TAMIS_STORE_REDIS_CONNECTION_REDIS_RESOLVE_H

#include <netdb.h>

#include "store/redis/connection/redis_uri.h"

/* Looks up the addresses of a host; the caller frees them with freeaddrinfo. `shown` names the host in messages.
 * TAMIS_E_IO: the host has no address. TAMIS_E_TIMEOUT: no answer by the deadline, a time as in tamis__now_ns. */
tamis_status tamis__resolve(struct addrinfo **found, const tamis__redis_address *address, const char *shown,
                            uint64_t deadline, tamis_error *err);

#endif
