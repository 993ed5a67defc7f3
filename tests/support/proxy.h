/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_PROXY_H
#define TAMIS_TEST_PROXY_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A proxy between clients and a server, in a thread of its own. It forwards bytes in both directions, and can
 * do harm to them.
 *
 *     client --- 127.0.0.1:port --- proxy --- unix socket of the server
 */
typedef struct proxy proxy;

typedef enum proxy_way { PROXY_REQUESTS, PROXY_REPLIES } proxy_way;

/* Harm to a connection at one byte. */
typedef enum proxy_harm {
    PROXY_CUT,    /* close the connection before the byte */
    PROXY_RESET,  /* reset the connection before the byte, which loses earlier bytes too */
    PROXY_GARBLE, /* flip one bit of the byte */
    PROXY_HOLD,   /* forward nothing in either direction from the byte on */
    PROXY_DELAY,  /* hold requests from the byte on until proxy_deliver, even if the client has gone */
    PROXY_TRICKLE /* forward bytes one by one, 5 ms apart, from about the byte on */
} proxy_harm;

proxy *proxy_start(const char *socket_path);
void proxy_stop(proxy *self);
int proxy_port(const proxy *self);

/* Does the harm once, at byte `position` (from 0) that goes in this direction from now on, counted over all
 * connections. */
void proxy_arm(proxy *self, proxy_way way, proxy_harm harm, uint64_t position);
/* The same at the first byte of command `position` (from 0). Only for requests. Not for PROXY_GARBLE. */
void proxy_arm_command(proxy *self, proxy_harm harm, uint64_t position);
/* Forwards the delayed requests. is_gone: the client has closed the connection; waits until the server has
 * answered all its requests. */
void proxy_deliver(proxy *self, bool is_gone);
/* Cuts or resets connections at random, after `mean` bytes of both directions on average. 0: stops that. */
void proxy_arm_random(proxy *self, uint64_t mean, uint64_t seed);
/* Does no more harm, and closes connections that are held or delayed. */
void proxy_disarm(proxy *self);

/* Numbers since the proxy was last armed or disarmed. */
uint64_t proxy_passed(proxy *self, proxy_way way); /* bytes forwarded */
uint64_t proxy_commands(proxy *self);              /* commands forwarded */
uint64_t proxy_harmed(proxy *self);                /* times that harm was done */

#endif
