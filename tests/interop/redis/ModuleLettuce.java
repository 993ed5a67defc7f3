// SPDX-License-Identifier: BSD-2-Clause
// ModuleLettuce PORT RESP2|RESP3: BF.* and CF.* as generic commands of Lettuce; prints what they return, with true as 1
// and false as 0.
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.ArrayOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.ProtocolKeyword;
import io.lettuce.core.protocol.ProtocolVersion;

public class ModuleLettuce {
    static StatefulRedisConnection<String, String> connection;

    record Word(String name) implements ProtocolKeyword {
        public byte[] getBytes() {
            return name.getBytes(StandardCharsets.US_ASCII);
        }

        public String toString() {
            return name;
        }
    }

    // A reply as a list, with booleans of RESP3, which Lettuce has no list for.
    static class Reply extends ArrayOutput<String, String> {
        Reply() {
            super(StringCodec.UTF8);
        }

        @Override
        public void set(boolean value) {
            set(value ? 1L : 0L);
        }
    }

    static String text(Object reply) {
        if (reply instanceof List) {
            List<String> texts = new ArrayList<>();
            for (Object element : (List<?>) reply)
                texts.add(text(element));
            return texts.toString();
        }
        return reply instanceof Throwable ? ((Throwable) reply).getMessage() : String.valueOf(reply);
    }

    static void run(String line) {
        String[] words = line.split(" ");
        CommandArgs<String, String> arguments = new CommandArgs<>(StringCodec.UTF8);
        arguments.addKey(words[1]);
        for (int i = 2; i < words.length; i++)
            arguments.add(words[i]);
        Object reply;
        try {
            List<Object> list = connection.sync().dispatch(new Word(words[0]), new Reply(), arguments);
            reply = list.size() == 1 ? list.get(0) : list; // another reply than an array comes as one element
        } catch (RedisCommandExecutionException e) {
            reply = e;
        }
        System.out.println(line + ": " + text(reply));
    }

    public static void main(String[] args) throws Exception {
        RedisClient client = RedisClient.create("redis://127.0.0.1:" + args[0]);
        client.setOptions(ClientOptions.builder().protocolVersion(ProtocolVersion.valueOf(args[1])).build());
        connection = client.connect();
        for (String line : new String(System.in.readAllBytes(), StandardCharsets.UTF_8).split("\n"))
            run(line);
        connection.close();
        client.shutdown();
    }
}
