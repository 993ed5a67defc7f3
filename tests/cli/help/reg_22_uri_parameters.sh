# SPDX-License-Identifier: BSD-2-Clause
# The help of redis has the parameters of URIs, and an option that is one of them says so.
tamis help redis | grep -c 'connect_wait=TIME'
tamis check --connect-wait 3 redis://localhost/f a
