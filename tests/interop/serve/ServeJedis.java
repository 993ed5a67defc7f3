// SPDX-License-Identifier: BSD-2-Clause
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Pipeline;
import redis.clients.jedis.Response;
import redis.clients.jedis.Transaction;
import redis.clients.jedis.exceptions.JedisDataException;

/** ServeJedis PORT: the demo of tamis serve by Jedis. */
public class ServeJedis {
    static void same(Object got, Object expected) {
        if (!Objects.equals(got, expected)) {
            throw new AssertionError(got + " instead of " + expected);
        }
    }

    public static void main(String[] arguments) {
        try (Jedis jedis = new Jedis("127.0.0.1", Integer.parseInt(arguments[0]))) {
            same(jedis.get("item:17"), "item number 17");
            same(jedis.get("item:0"), null);
            same(jedis.mget("item:1", "item:x"), Arrays.asList("item number 1", null));
            same(jedis.exists("item:1", "item:x"), 1L);
            same(jedis.ttl("item:x"), -2L);
            same(jedis.del("item:5"), 1L);
            Pipeline pipeline = jedis.pipelined();
            List<Response<String>> replies = new ArrayList<>();
            for (int i = 0; i < 2000; i++) {
                replies.add(pipeline.get("item:" + i));
            }
            pipeline.sync();
            for (int i = 0; i < 2000; i++) {
                same(replies.get(i).get(), i >= 1 && i <= 1000 ? "item number " + i : null);
            }
            Transaction transaction = jedis.multi();
            Response<String> row = transaction.get("item:3");
            transaction.del("item:3");
            same(transaction.exec(), Arrays.asList("item number 3", 1L));
            same(row.get(), "item number 3");
            try {
                jedis.get("user:1");
                throw new AssertionError("no error for a key in no keyspace");
            } catch (JedisDataException expected) {
                same(expected.getMessage().startsWith("ERR no keyspace has key"), true);
            }
        }
    }
}
