<?php
// SPDX-License-Identifier: BSD-2-Clause
// ops.php PORT NAME add|contains, see redis_clients.sh
require getenv('TAMIS_CLIENTS') . '/TamisRedis.php';
[, $port, $name, $verb] = $argv;
$redis = new Redis();
$redis->connect('127.0.0.1', (int)$port);
try {
    $filter = new TamisRedis($redis, $name);
    echo "open\n";
    $keys = array_map('hex2bin', file('php://stdin', FILE_IGNORE_NEW_LINES));
    foreach (array_chunk($keys, 500) as $some)
        foreach ($filter->$verb($some) as $answer)
            echo (int)$answer, "\n";
} catch (RuntimeException | InvalidArgumentException $error) {
    echo $error->getMessage(), "\n";
    exit(2);
}
