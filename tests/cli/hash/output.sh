# SPDX-License-Identifier: BSD-2-Clause
# Standard output that is full, closed or gone.
tamis hash a > /dev/full
echo "full: $?" >&2
tamis gen words 1e5 | tamis hash > /dev/full
echo "full: $?" >&2
tamis hash a >&-
echo "closed: $?" >&2
tamis gen words 1e6 | tamis hash | head -n 1
echo "gone: ${PIPESTATUS[1]}"
(trap '' PIPE; tamis gen words 1e5 2> /dev/null | tamis hash | head -n 1 | wc -l)
tamis hash < .
echo "directory: $?"
tamis hash <&-
echo "closed: $?"
head -c 32 /dev/urandom > secret
tamis hash --secret-file secret a >> secret
echo "secret: $?"
wc -c < secret
