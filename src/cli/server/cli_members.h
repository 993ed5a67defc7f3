/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_SERVER_CLI_MEMBERS_H
#define TAMIS_CLI_SERVER_CLI_MEMBERS_H

#include <tamis/experimental/redis_family.h>

/* Finds the members of a family with the most adds, approximately, in memory of a fixed size. No limit stops adds to a member
 * (cli_bounded_filter.h), so these members are checked at the end. All functions accept NULL and do nothing then. */
typedef struct cli_members cli_members;

/* Returns NULL if memory is short, since only a remark depends on it. The caller frees it with free(). */
cli_members *cli_members_create(void);
/* Counts added pairs by member, except those answered TAMIS_PRESENT. */
void cli_members_note(cli_members *members, const tamis_redis_pair *pairs, const tamis_answer *answers,
                      size_t count);
/* Prints a remark about members that hold more keys than planned. With layouts that store no capacity: about members that
 * have most of their bits set. */
void cli_members_report(cli_members *members, const tamis_redis_family *family, const char *uri);

#endif
