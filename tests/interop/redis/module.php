<?php
// SPDX-License-Identifier: BSD-2-Clause
// module.php SOCKET: runs the commands on standard input by phpredis and prints what they return, lists as [a, b].
function text($reply)
{
    return is_array($reply) ? '[' . implode(', ', array_map('text', $reply)) . ']' : ($reply === true ? 'OK' : (string) $reply);
}

$redis = new Redis();
$redis->connect($argv[1]);
while (($line = fgets(STDIN)) !== false) {
    $redis->clearLastError();
    try {
        $reply = $redis->rawCommand(...explode(' ', trim($line)));
    } catch (RedisException $e) { // some errors are thrown
        $reply = $e->getMessage();
    }
    if ($reply === false && $redis->getLastError() !== null) {
        $reply = $redis->getLastError();
    }
    echo trim($line), ': ', text($reply), "\n";
}
