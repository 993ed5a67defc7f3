// SPDX-License-Identifier: BSD-2-Clause
import java.io.*;
import java.util.*;

/** RedisOps PORT NAME add|contains, see redis_clients.sh */
public class RedisOps {
    private static byte[] bytes(String hex) {
        byte[] out = new byte[hex.length() / 2];
        for (int i = 0; i < out.length; i++) out[i] = (byte) Integer.parseInt(hex.substring(2 * i, 2 * i + 2), 16);
        return out;
    }
    public static void main(String[] args) throws Exception {
        try (TamisRedis filter = new TamisRedis("127.0.0.1", Integer.parseInt(args[0]), args[1])) {
            System.out.println("open");
            byte[][] keys = new BufferedReader(new InputStreamReader(System.in)).lines().map(RedisOps::bytes).toArray(byte[][]::new);
            StringBuilder out = new StringBuilder();
            for (int at = 0; at < keys.length; at += 500) {
                byte[][] some = Arrays.copyOfRange(keys, at, Math.min(at + 500, keys.length));
                for (boolean answer : args[2].equals("add") ? filter.add(some) : filter.contains(some))
                    out.append(answer ? "1\n" : "0\n");
            }
            System.out.print(out);
        } catch (IOException error) {
            System.out.println(error.getMessage());
            System.exit(2);
        }
    }
}
