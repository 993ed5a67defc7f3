#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A filter that hears the news of writers never answers "absent" wrongly, in every run of these bounds.
# ctest: torture
# ctest: not-sanitized ctest: timeout=600
MODEL=guard_news
. "$(dirname "$0")/run.bash"

holds "two writers, a crash, a restart, two filters"
if [ "${TAMIS_TEST_SCALE-}" = torture ]; then
    holds "two crashes, two restarts, four filters" -DCRASHES=2 -DRESTARTS=2 -DBUILDS=4
fi
exit $((errors != 0))
