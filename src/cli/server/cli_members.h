/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_SERVER_CLI_MEMBERS_H
#define TAMIS_CLI_SERVER_CLI_MEMBERS_H

#include <tamis/experimental/census.h>
#include <tamis/experimental/redis_family.h>

/* Adds to a member of a family have no limit. So the members with the most adds are checked at the end of
 * the run. The functions do nothing if `members` is NULL. */

/* Counts added pairs by member, except those answered TAMIS_PRESENT. */
void cli_members_note(tamis_heavy_hitters *members, const tamis_redis_pair *pairs,
                      const tamis_answer *answers, size_t count);
/* Prints a remark about members that hold more keys than planned. With layouts that store no capacity:
 * about members that have most of their bits set. */
void cli_members_report(const tamis_heavy_hitters *members, const tamis_redis_family *family,
                        const char *uri);

#endif
