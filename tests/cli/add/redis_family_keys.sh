# SPDX-License-Identifier: BSD-2-Clause
# A family takes the names of its filters from fields of a record; --key says which part of the record is the
# key.
. "$TAMIS_SOURCE_DIR/tests/support/redis.bash"
redis_start
java='layout=java&expect=3000&fpr=0.03'
# The key is made of fields, one of which is also in the name.
printf 'u1\tmon\tp1\tx\nu1\tmon\tp1\ty\nnone\nu1\ttue\tp1\tz\n' > visits
tamis add --key field:3 --print fresh "$redis_uri/seen:{1}:{2}?$java" visits | tr '\t' ' '
redis_command keys '*' | LC_ALL=C sort
echo p1 | tamis check "$redis_uri/seen:u1:mon?$java"
tamis check --key field:3 -c "$redis_uri/seen:{1}:{2}?$java" visits
redis_command flushall >/dev/null
echo csv, one field and two
printf 'user,day,page\nu1,"m,1",p1\n"u1",tue,"p\n1"\n"u1","m,1","p1"\n' > visits.csv
tamis add --key csv:page --print fresh "$redis_uri/day:{2}?$java" visits.csv
tamis add --key csv:page --print seen "$redis_uri/seen:{1}:{2}?$java" visits.csv
redis_command keys '*' | LC_ALL=C sort
redis_command flushall >/dev/null
echo short of fields
printf 'a,1,k\nb,1\nc,1,k\n' | tamis add --key csv:1 --print fresh "$redis_uri/c:{3}?$java"
printf 'a\t1\tk\nb\t1\nc\t1\tk\n' | tamis add --key field:1 --print fresh "$redis_uri/f:{3}?$java" | tr '\t' ' '
echo "numbers, behind records without key"
printf 'a\nb\t1\t7\nc\nd\t1\t007\ne\t1\tx\n' | tamis add --key field:3 --type int64 --print fresh "$redis_uri/n:{2}?$java" | tr '\t' ' '
echo without case
printf 'U\tA\nU\ta\nu\ta \n' | tamis add --ignore-case --trim --print fresh "$redis_uri/l:{1}?$java" | tr '\t' ' '
redis_command keys '*l:*' | LC_ALL=C sort
echo no fields in json
printf '{"id":"a\tb"}\n' | tamis add --key json:/id "$redis_uri/j:{1}?$java"
printf '{"id":"a\tb"}\n' | tamis check --key line --key json:/id "$redis_uri/j:{1}?$java"
redis_command keys 'j:*'
