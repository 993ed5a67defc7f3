# SPDX-License-Identifier: BSD-2-Clause
# ctest: long
# A filter behind Codis: two proxies, found by ZooKeeper, in front of one server.
. "$TAMIS_SOURCE_DIR/tests/support/redis.bash"
. "$TAMIS_SOURCE_DIR/tests/support/zookeeper.bash"
tamis --version | grep -q zookeeper || {
    echo "needs a build with ZooKeeper"
    exit 77
}
redis_start --requirepass secret --rename-command UNLINK "" --rename-command MULTI "" --rename-command SCAN ""
zookeeper_start
zookeeper_do << END
create /jodis ""
create /jodis/shop ""
create /jodis/shop/proxy-1 {"addr":"127.0.0.1:$redis_port","state":"online"}
create /jodis/shop/proxy-2 {"addr":"localhost:$redis_port","state":"online"}
create /jodis/empty ""
create /jodis/empty/proxy-1 {"addr":"127.0.0.1:$redis_port","state":"offline"}
END
codis=codis+zk://:secret@127.0.0.1:$zookeeper_port
redis=redis://:secret@127.0.0.1:$redis_port
java='layout=java&expect=1000&fpr=0.001'
seq 1 500 | tamis add "$codis/shop/seen?expect=1000&fpr=0.001"
seq 1 500 | tamis check -c "$redis/seen"
seq 1 500 | tamis add "$codis/shop/0/list?$java&ttl=1d"
seq 1 500 | tamis check -c "$redis/list?$java"
seq 1 500 > all && tamis build -q -o "$codis/shop/built" all
tamis check -c "$codis/shop/built" all
tamis info "$codis/shop/built" | grep -c redis-tamis
tamis redis drop "$codis/shop/built" && tamis check -c "$redis/built" all
echo "status $?"
tamis add "$codis/empty/seen?patience=3s" all
echo "status $?"
tamis add "$codis/nobody/seen?zk_user=me&zk_password=secret" all
echo "status $?"
tamis add "codis+zk://127.0.0.1:1/shop/seen?timeout=100ms&patience=300ms" all
