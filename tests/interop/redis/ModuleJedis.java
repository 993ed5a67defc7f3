// SPDX-License-Identifier: BSD-2-Clause
// ModuleJedis PORT RESP2|RESP3: the typed calls of Jedis for BF.* and CF.*; prints what they return.
import java.util.Map;
import java.util.TreeMap;

import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.RedisProtocol;
import redis.clients.jedis.bloom.BFInsertParams;
import redis.clients.jedis.bloom.BFReserveParams;
import redis.clients.jedis.bloom.CFInsertParams;
import redis.clients.jedis.bloom.CFReserveParams;
import redis.clients.jedis.exceptions.JedisDataException;

public class ModuleJedis {
    interface Call {
        Object run();
    }

    static void print(String what, Object result) {
        System.out.println(what + ": " + result);
    }

    // A call that the server refuses.
    static void refused(String what, Call call) {
        try {
            print(what, call.run());
        } catch (JedisDataException e) {
            print(what, e.getMessage());
        }
    }

    static void bloom(RedisClient redis) {
        print("reserve", redis.bfReserve("b", 0.01, 1000));
        print("reserve", redis.bfReserve("b4", 0.001, 100, BFReserveParams.reserveParams().expansion(4)));
        print("reserve", redis.bfReserve("fixed", 0.01, 2, BFReserveParams.reserveParams().nonScaling()));
        refused("exists", () -> redis.bfReserve("b", 0.01, 1000));
        print("add", redis.bfAdd("b", "a") + " " + redis.bfAdd("b", "a"));
        print("madd", redis.bfMAdd("b", "a", "b", "c"));
        print("insert", redis.bfInsert("made", "x", "y", "x"));
        print("insert", redis.bfInsert("made2", BFInsertParams.insertParams().capacity(50).error(0.1).expansion(3), "x"));
        refused("nocreate", () -> redis.bfInsert("none", BFInsertParams.insertParams().noCreate(), "x"));
        print("exists", redis.bfExists("b", "a") + " " + redis.bfExists("b", "z"));
        print("mexists", redis.bfMExists("b", "a", "z", "c"));
        print("card", redis.bfCard("b") + " " + redis.bfCard("none"));
        print("info", new TreeMap<>(redis.bfInfo("b")));
        print("info", new TreeMap<>(redis.bfInfo("fixed")));
        refused("info", () -> redis.bfInfo("none"));
        long position = 0;
        while (true) {
            Map.Entry<Long, byte[]> chunk = redis.bfScanDump("b", position);
            position = chunk.getKey();
            if (position == 0)
                break;
            print("chunk", redis.bfLoadChunk("copy", position, chunk.getValue()) + " " + chunk.getValue().length);
        }
        print("loaded", redis.bfMExists("copy", "a", "z", "c"));
    }

    static void cuckoo(RedisClient redis) {
        print("reserve", redis.cfReserve("c", 1000));
        print("reserve", redis.cfReserve("c4", 100, CFReserveParams.reserveParams().bucketSize(4).maxIterations(7).expansion(2)));
        print("add", redis.cfAdd("c", "a") + " " + redis.cfAdd("c", "a"));
        print("addnx", redis.cfAddNx("c", "a") + " " + redis.cfAddNx("c", "b"));
        print("insert", redis.cfInsert("made3", "x", "y", "x"));
        print("insertnx", redis.cfInsertNx("made3", CFInsertParams.insertParams().noCreate(), "x", "z"));
        refused("nocreate", () -> redis.cfInsert("none", CFInsertParams.insertParams().noCreate(), "x"));
        print("exists", redis.cfExists("c", "a") + " " + redis.cfExists("c", "z"));
        print("mexists", redis.cfMExists("c", "a", "z", "b"));
        print("count", redis.cfCount("c", "a") + " " + redis.cfCount("c", "z"));
        print("del", redis.cfDel("c", "a") + " " + redis.cfDel("c", "z"));
        refused("del", () -> redis.cfDel("none", "a"));
        print("info", new TreeMap<>(redis.cfInfo("c4")));
        long position = 0;
        while (true) {
            Map.Entry<Long, byte[]> chunk = redis.cfScanDump("c", position);
            position = chunk.getKey();
            if (position == 0)
                break;
            print("chunk", redis.cfLoadChunk("copy2", position, chunk.getValue()) + " " + chunk.getValue().length);
        }
        print("loaded", redis.cfMExists("copy2", "a", "z", "b"));
    }

    public static void main(String[] args) {
        RedisProtocol protocol = RedisProtocol.valueOf(args[1]);
        try (RedisClient redis = RedisClient.builder().hostAndPort("127.0.0.1", Integer.parseInt(args[0]))
                .clientConfig(DefaultJedisClientConfig.builder().protocol(protocol).build()).build()) {
            bloom(redis);
            cuckoo(redis);
        }
    }
}
