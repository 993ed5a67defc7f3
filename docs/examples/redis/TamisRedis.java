// SPDX-License-Identifier: BSD-2-Clause
import static java.nio.charset.StandardCharsets.*;
import com.google.common.hash.Hashing;
import java.io.*;
import java.net.*;
import java.nio.*;
import java.util.*;

/** A filter in a Redis, layout `tamis` of docs/REDIS-LAYOUT.md with scheme guava64 (Java 11 or later, Guava).
 *      var seen = new TamisRedis("localhost", 6379, "seen");
 *      seen.add("alice".getBytes(), "bob".getBytes());         // {true, true}: certainly absent before
 *      seen.contains("alice".getBytes(), "carol".getBytes());  // {true, false}: absent for certain
 *  A call is one round trip: give some hundred keys at once. After an IOException close it and open another. An add that
 *  is repeated may find its own bits, and then answers false. One thread at a time. */
public final class TamisRedis implements AutoCloseable {
    private final Socket socket;
    private final DataInputStream in;
    private final String config, plan, generation; // bytes of Redis are kept as strings of ISO 8859-1
    private final long blocks, partition, probes;
    public TamisRedis(String host, int port, String name) throws IOException {
        config = "tamis:{" + new String(name.getBytes(UTF_8), ISO_8859_1) + "}";
        if (!config.matches("(?s)tamis:\\{[^{}]{1,512}}")) throw new IOException(name + ": has not 1 to 512 bytes, or a brace");
        socket = new Socket(host, port);
        in = new DataInputStream(new BufferedInputStream(socket.getInputStream()));
        Object[] there = (Object[]) run(List.of(List.of("HMGET", config, "plan", "state"))).get(0);
        if ((plan = (String) there[0]) == null) throw new IOException(name + ": there is no such filter");
        Map<String, String> said = new HashMap<>();
        for (String word : plan.split(" ")) said.put(word.split("=")[0], word.substring(word.indexOf('=') + 1));
        blocks = Long.parseLong(said.get("bits")) / 512;
        probes = Long.parseLong(said.get("probes"));
        partition = Long.parseLong(said.get("partition"));
        generation = said.get("generation");
        boolean old = plan.startsWith("layout=1 "); // there the hash says when the partitions are made
        if (!plan.matches("(?s)layout=[12] kind=blocked scheme=guava64 .*") || !said.get("bits").equals("" + blocks * 512) || blocks < 1
                || probes < 1 || probes > 255 || partition < 1 || partition > (old ? 8388607 : 8388604))
            throw new IOException(name + ": this client cannot read it: " + plan);
        if (old && !("ready " + generation).equals(there[1]))
            throw new IOException(name + ": of layout 1 and not ready: wait for its maker, or drop it and make it again");
    }
    private String key(long i) { return config.replace("}", ":" + generation + ":" + i + "}:bits"); }
    private long end(long i) { return 64 * Math.min(partition, blocks - i * partition); }
    private String footer(long i) { return ("tamis-footer 1 " + generation + " " + i + "\0".repeat(48)).substring(0, 64); }
    private List<Object> run(List<List<Object>> commands) throws IOException {
        StringBuilder all = new StringBuilder();
        for (List<Object> command : commands) {
            all.append("*" + command.size() + "\r\n");
            for (Object word : command) all.append("$" + word.toString().length() + "\r\n" + word + "\r\n");
        }
        socket.getOutputStream().write(all.toString().getBytes(ISO_8859_1));
        List<Object> replies = new ArrayList<>();
        for (int i = 0; i < commands.size(); i++) replies.add(reply());
        return replies;
    }
    private Object reply() throws IOException {
        StringBuilder line = new StringBuilder();
        for (byte b; (b = in.readByte()) != '\n';) line.append((char) b);
        if (line.charAt(0) == '-') throw new IOException("redis: " + line);
        int number = Integer.parseInt(line.substring(1).trim());
        if (line.charAt(0) == ':') return number;
        if (line.charAt(0) == '$') return number < 0 ? null : new String(in.readNBytes(number + 2), 0, number, ISO_8859_1);
        Object[] items = new Object[number]; // of an array
        for (int i = 0; i < number; i++) items[i] = reply();
        return items;
    }
    private boolean[] ask(boolean adds, byte[][] keys) throws IOException {
        List<List<Object>> commands = new ArrayList<>();
        TreeSet<Long> touched = new TreeSet<>();
        int[][] at = new int[keys.length][(int) probes]; // positions in the key's block
        for (int k = 0; k < keys.length; k++) {
            var xy = ByteBuffer.wrap(Hashing.murmur3_128().hashBytes(keys[k]).asBytes()).order(ByteOrder.LITTLE_ENDIAN);
            long block = Math.multiplyHigh(xy.getLong(8), blocks) + (xy.getLong(8) >> 63 & blocks); // y is unsigned
            long i = block / partition, start = block % partition * 64;
            List<Object> add = new ArrayList<>(List.of("BITFIELD", key(i)));
            for (int j = 0; j < probes; j++) {
                long u = xy.getLong(0) + j / 7 * 0x9e3779b97f4a7c15L, v = (u ^ u >>> 32) * 0xff51afd7ed558ccdL;
                at[k][j] = (int) ((v ^ v >>> 32) >>> 55 - j % 7 * 9 & 511);
                add.addAll(List.of("SET", "u1", start * 8 + at[k][j], 1));
            }
            touched.add(i);
            commands.add(adds ? add : List.of("GETRANGE", key(i), start, start + 63));
        }
        for (long i : touched) commands.add(List.of("GETRANGE", key(i), end(i), end(i) + 63));
        commands.add(List.of("HMGET", config, "plan", "next"));
        List<Object> replies = run(commands), footers = replies.subList(keys.length, replies.size() - 1);
        Object[] now = (Object[]) replies.get(replies.size() - 1);
        if (!plan.equals(now[0]) || adds && now[1] != null) throw new IOException(now[0] == null ? "dropped" : "replaced, or resized");
        for (long i : touched)
            if (!footer(i).equals(footers.remove(0))) throw new IOException("the filter is damaged: partition " + i);
        boolean[] answers = new boolean[keys.length];
        for (int k = 0; k < keys.length; k++) {
            answers[k] = !adds || List.of((Object[]) replies.get(k)).contains(0);
            if (!adds) for (int p : at[k]) answers[k] &= (((String) replies.get(k)).charAt(p >> 3) & 0x80 >> (p & 7)) != 0;
        }
        return answers;
    }
    public boolean[] add(byte[]... keys) throws IOException { return ask(true, keys); }
    public boolean[] contains(byte[]... keys) throws IOException { return ask(false, keys); }
    public void close() throws IOException { socket.close(); }
}
