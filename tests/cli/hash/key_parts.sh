# SPDX-License-Identifier: BSD-2-Clause
# The key of a record, as other commands take it.
tamis hash foo
tamis hash --key json:/id '{"id":"\u0066oo"}'
tamis hash --key csv:2 '1,"foo"'
printf 'x\tFoo\n' | tamis hash --key field:2 --ignore-case
tamis hash ' foo ' --trim
printf 'a\tfoo\nb\nc\n' | tamis hash --key field:2
tamis hash --key json:/id '{"id":'
tamis hash --key csv:name a
echo "status $?"
