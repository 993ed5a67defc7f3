/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_REDIS_SENTINEL_H
#define TAMIS_TEST_REDIS_SENTINEL_H

#include "support/redis_server.h"

/* Starts a private sentinel at the port, or at the next free one; sets pid, port and socket. Its files are
 * in scratch() and in the directory of `beside`, which must run as long. `settings`: lines of its
 * configuration. End it with redis_server_kill. */
void redis_sentinel_start(redis_server *sentinel, int port, const redis_server *beside, const char *settings);

#endif
