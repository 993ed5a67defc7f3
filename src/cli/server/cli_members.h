/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_SERVER_CLI_MEMBERS_H
#define TAMIS_CLI_SERVER_CLI_MEMBERS_H

#include <tamis/redis_family.h>

/* Which members of a family got most of what was added, about, however many there are: nothing bounds them, and those are
 * asked at the end how full they are. NULL is none, and nothing is noted in it. */
typedef struct cli_members cli_members;

/* NULL without memory: what it is for is a remark. free() ends it. */
cli_members *cli_members_create(void);
/* Of the pairs that were added, those that may have been fresh. */
void cli_members_note(cli_members *members, const tamis_redis_pair *pairs, const tamis_answer *answers,
                      size_t count);
/* A remark on those that hold more than the family was made for; of layouts that do not say for how many, on those that have
 * most of their bits set. */
void cli_members_report(cli_members *members, const tamis_redis_family *family, const char *uri);

#endif
