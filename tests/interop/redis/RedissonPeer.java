// SPDX-License-Identifier: BSD-2-Clause
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import org.redisson.Redisson;
import org.redisson.api.RBloomFilter;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.Config;

/** RedissonPeer PORT: see redisson.sh */
public class RedissonPeer {
    private static String text(String hex) {
        byte[] bytes = new byte[hex.length() / 2];
        for (int i = 0; i < bytes.length; i++) bytes[i] = (byte) Integer.parseInt(hex.substring(2 * i, 2 * i + 2), 16);
        return new String(bytes, StandardCharsets.UTF_8);
    }

    public static void main(String[] args) throws Exception {
        Config config = new Config().setThreads(2).setNettyThreads(2);
        config.useSingleServer().setAddress("redis://127.0.0.1:" + args[0]).setConnectionPoolSize(2)
            .setConnectionMinimumIdleSize(1).setSubscriptionConnectionMinimumIdleSize(1);
        RedissonClient redisson = Redisson.create(config);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = in.readLine()) != null; ) {
            String[] words = line.split(" ");
            RBloomFilter<String> filter = redisson.getBloomFilter(words[0], StringCodec.INSTANCE);
            StringBuilder out = new StringBuilder();
            if (words[1].equals("init"))
                out.append(filter.tryInit(Long.parseLong(words[2]), Double.parseDouble(words[3])) ? "1\n" : "0\n");
            else if (words[1].equals("delete"))
                out.append(filter.delete() ? "1\n" : "0\n");
            else {
                String[] keys = new String[Integer.parseInt(words[2])];
                for (int i = 0; i < keys.length; i++) keys[i] = text(in.readLine());
                for (String key : keys)
                    out.append((words[1].equals("add") ? !filter.add(key) : filter.contains(key)) ? "1\n" : "0\n");
            }
            System.out.print(out);
            System.out.flush();
        }
        redisson.shutdown();
    }
}
