/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_PROXY_H
#define TAMIS_TEST_PROXY_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A thread between clients and a server: passes bytes on both ways, and does harm where it is told to.
 *
 *     client --- 127.0.0.1:port --- proxy --- unix socket of the server
 */
typedef struct proxy proxy;

typedef enum proxy_way { PROXY_REQUESTS, PROXY_REPLIES } proxy_way;

typedef enum proxy_harm {
    PROXY_CUT,    /* this byte is the first that does not get through; the connection ends */
    PROXY_RESET,  /* the same, with a reset, which throws away bytes before it too */
    PROXY_GARBLE, /* one bit of it is turned over */
    PROXY_HOLD,   /* from it on, nothing of that connection gets through either way */
    PROXY_DELAY, /* from it on, no request of that connection gets through till proxy_deliver, even if the client is gone */
    PROXY_TRICKLE /* about from it on, bytes of that connection get through one by one, 5 ms after each other */
} proxy_harm;

proxy *proxy_start(const char *socket_path);
void proxy_stop(proxy *self);
int proxy_port(const proxy *self);

/* Does the harm to the byte number `at` (from 0) that goes this way from now on, on whatever connection, once. */
void proxy_arm(proxy *self, proxy_way way, proxy_harm harm, uint64_t at);
/* The same of the command number `at` (from 0), which begins there. Only for requests, and for harm other than PROXY_GARBLE. */
void proxy_arm_command(proxy *self, proxy_harm harm, uint64_t at);
/* Lets through what was delayed, late as it is. is_gone: the client has given the connection up, and this waits until the
 * server has answered all that it sent. */
void proxy_deliver(proxy *self, bool is_gone);
/* Cuts or resets at random, again and again, after `mean` bytes of both ways on the average. 0: no more. */
void proxy_arm_random(proxy *self, uint64_t mean, uint64_t seed);
/* No harm from now on, and connections that are held or delayed end. */
void proxy_disarm(proxy *self);

uint64_t proxy_passed(proxy *self, proxy_way way); /* bytes since it was armed or disarmed last */
uint64_t proxy_commands(proxy *self);              /* that have passed since */
uint64_t proxy_harmed(proxy *self);                /* times, since the same */

#endif
