/* SPDX-License-Identifier: BSD-2-Clause */

import com.google.common.hash.BloomFilter;
import com.google.common.hash.Funnel;
import com.google.common.hash.Funnels;
import com.google.common.hash.Hashing;
import com.google.common.hash.PrimitiveSink;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.PrintWriter;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The real Guava's side of the script that script.py writes: one answer a line, see there. The hash codes of funnels
 * and strategies, which are another in every run of a JVM, come first, with its rule for k, and a line "--" after them.
 *
 * What Guava keeps to itself (the strategy, bitSize, bits and k of a filter) is reached by reflection: a jar on the
 * class path allows it.
 */
public final class GuavaOps {
    /** What the custom funnel writes; the same in guava_ops.c. */
    private static final class Custom {
        final long id;
        final byte[] bytes;
        final char[] units;

        Custom(String token) {
            String[] parts = token.split(":", -1);
            id = Long.parseLong(parts[0]);
            bytes = unhex(parts[1]);
            byte[] big = unhex(parts[2]);
            units = new char[big.length / 2];
            for (int i = 0; i < units.length; i++) {
                units[i] = (char) ((big[2 * i] & 0xff) << 8 | big[2 * i + 1] & 0xff);
            }
        }

        static void funnel(Custom from, PrimitiveSink into) {
            into.putLong(from.id).putInt((int) from.id).putShort((short) from.id);
            into.putByte((byte) (from.id >> 8)).putBoolean((from.id & 1) != 0);
            into.putFloat((float) (int) from.id).putDouble((double) from.id);
            into.putString(new String(from.bytes, StandardCharsets.ISO_8859_1), StandardCharsets.UTF_8);
            into.putUnencodedChars(new String(from.units)).putBytes(from.bytes);
        }
    }

    private static final Map<String, Funnel<?>> FUNNELS = new LinkedHashMap<>();
    private static final Map<String, Object> STRATEGIES = new LinkedHashMap<>();
    private static final Map<Integer, BloomFilter<Object>> FILTERS = new LinkedHashMap<>();
    private static final Map<Integer, String> FUNNEL_OF = new LinkedHashMap<>();
    private static Method create;
    private static Method bitsFor;
    private static Method hashFunctionsFor;

    private static byte[] unhex(String hex) {
        byte[] bytes = new byte[hex.length() / 2];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) Integer.parseInt(hex.substring(2 * i, 2 * i + 2), 16);
        }
        return bytes;
    }

    private static String hex(byte[] bytes) {
        StringBuilder text = new StringBuilder();
        for (byte b : bytes) {
            text.append(String.format("%02x", b));
        }
        return text.toString();
    }

    private static Object object(String funnel, String token) {
        switch (funnel) {
            case "int32":
                return Integer.valueOf(token);
            case "int64":
                return Long.valueOf(token);
            case "utf8":
            case "utf16":
                return new String(unhex(token.substring(1)), StandardCharsets.UTF_8);
            case "bytes":
                return unhex(token.substring(1));
            default:
                return new Custom(token);
        }
    }

    private static double rate(String bits) {
        return Double.longBitsToDouble(new BigInteger(bits, 16).longValue());
    }

    private static Object field(Object of, String name) throws Exception {
        Field field = of.getClass().getDeclaredField(name);
        field.setAccessible(true);
        return field.get(of);
    }

    private static long number(Object of, String method) throws Exception {
        Method found = of.getClass().getDeclaredMethod(method);
        found.setAccessible(true);
        return (Long) found.invoke(of);
    }

    private static Throwable cause(InvocationTargetException thrown) {
        return thrown.getCause();
    }

    private static void prepare() throws Exception {
        FUNNELS.put("int32", Funnels.integerFunnel());
        FUNNELS.put("int64", Funnels.longFunnel());
        FUNNELS.put("utf8", Funnels.stringFunnel(StandardCharsets.UTF_8));
        FUNNELS.put("utf16", Funnels.unencodedCharsFunnel());
        FUNNELS.put("bytes", Funnels.byteArrayFunnel());
        Funnel<Custom> custom = Custom::funnel;
        FUNNELS.put("custom", custom);
        for (Object strategy : Class.forName("com.google.common.hash.BloomFilterStrategies").getEnumConstants()) {
            STRATEGIES.put(strategy.toString().equals("MURMUR128_MITZ_32") ? "guava32" : "guava64", strategy);
        }
        for (Method method : BloomFilter.class.getDeclaredMethods()) {
            if (method.getName().equals("create") && method.getParameterCount() == 4) {
                create = method;
            } else if (method.getName().equals("optimalNumOfBits")) {
                bitsFor = method;
            } else if (method.getName().equals("optimalNumOfHashFunctions")) {
                hashFunctionsFor = method;
            } else {
                continue;
            }
            method.setAccessible(true);
        }
    }

    private static String sizes(BloomFilter<?> filter) throws Exception {
        return number(filter, "bitSize") + " " + field(filter, "numHashFunctions");
    }

    @SuppressWarnings("unchecked")
    private static BloomFilter<Object> made(String funnel, String strategy, long n, double p) throws Exception {
        return (BloomFilter<Object>) create.invoke(null, FUNNELS.get(funnel), n, p, STRATEGIES.get(strategy));
    }

    @SuppressWarnings("unchecked")
    private static String create(String[] w) throws Exception {
        int slot = Integer.parseInt(w[1]);
        long n = Long.parseLong(w[4]);
        BloomFilter<Object> filter;
        try {
            if (w[5].equals("default")) {
                filter = (BloomFilter<Object>) (BloomFilter<?>) BloomFilter.create(FUNNELS.get(w[2]), n);
            } else {
                filter = made(w[2], w[3], n, rate(w[5]));
            }
        } catch (IllegalArgumentException thrown) {
            return "range";
        } catch (InvocationTargetException thrown) {
            return cause(thrown) instanceof IllegalArgumentException ? "range" : cause(thrown).toString();
        }
        FILTERS.put(slot, filter);
        FUNNEL_OF.put(slot, w[2]);
        return "ok " + sizes(filter);
    }

    /** Releases up to 33.3 find k from m and n, later ones from the rate. */
    private static boolean bySize() {
        return hashFunctionsFor.getParameterCount() == 2;
    }

    /** The sizes alone, as create would take them, without the memory that some would need. */
    private static String size(String[] w) throws Exception {
        long n = Math.max(1, Long.parseLong(w[1]));
        double p = rate(w[2]);
        long m = (Long) bitsFor.invoke(null, n, p);
        int k = (Integer) (bySize() ? hashFunctionsFor.invoke(null, n, m) : hashFunctionsFor.invoke(null, p));
        long words = m / 64 + (m % 64 != 0 ? 1 : 0);
        return m <= 0 || words > Integer.MAX_VALUE || k > 255 ? "range" : 64 * words + " " + k;
    }

    private static String putAll(BloomFilter<Object> into, BloomFilter<Object> from) {
        try {
            into.putAll(from);
            return "ok";
        } catch (IllegalArgumentException thrown) {
            for (String reason : new String[] {"itself", "hash functions", "bit", "strategies", "funnels"}) {
                if (thrown.getMessage().contains(reason)) {
                    return "refused " + reason;
                }
            }
            return thrown.toString();
        }
    }

    private static String state(BloomFilter<Object> filter) throws Exception {
        String count;
        try {
            count = Long.toString(filter.approximateElementCount());
        } catch (ArithmeticException thrown) {
            count = "all";
        }
        return sizes(filter) + " " + number(field(filter, "bits"), "bitCount") + " " + count + " "
            + Double.toHexString(filter.expectedFpp());
    }

    private static String written(String[] w) throws Exception {
        BloomFilter<Object> filter = made(w[1], w[2], Long.parseLong(w[3]), rate(w[4]));
        for (int i = 5; i < w.length; i++) {
            filter.put(object(w[1], w[i]));
        }
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        filter.writeTo(bytes);
        return hex(bytes.toByteArray());
    }

    @SuppressWarnings("unchecked")
    private static String digest(String[] w) {
        Funnel<Object> funnel = (Funnel<Object>) FUNNELS.get(w[1]);
        return Hashing.murmur3_128().hashObject(object(w[1], w[2]), funnel).toString();
    }

    private static BloomFilter<Object> at(String slot) {
        return FILTERS.get(Integer.valueOf(slot));
    }

    private static Object objectOf(String[] w) {
        return object(FUNNEL_OF.get(Integer.valueOf(w[1])), w[2]);
    }

    private static String answer(String[] w) throws Exception {
        switch (w[0]) {
            case "create":
                return create(w);
            case "size":
                return size(w);
            case "put":
                return Boolean.toString(at(w[1]).put(objectOf(w)));
            case "has":
                return Boolean.toString(at(w[1]).mightContain(objectOf(w)));
            case "putall":
                return putAll(at(w[1]), at(w[2]));
            case "copy":
                FILTERS.put(Integer.valueOf(w[1]), at(w[2]).copy());
                FUNNEL_OF.put(Integer.valueOf(w[1]), FUNNEL_OF.get(Integer.valueOf(w[2])));
                return "ok";
            case "equal":
                return Boolean.toString(at(w[1]).equals(at(w[2])));
            case "compatible":
                return Boolean.toString(at(w[1]).isCompatible(at(w[2])));
            case "hash":
                return Integer.toString(at(w[1]).hashCode());
            case "state":
                return state(at(w[1]));
            case "written":
                return written(w);
            case "digest":
                return digest(w);
            default:
                throw new IllegalArgumentException("unknown operation " + w[0]);
        }
    }

    public static void main(String[] arguments) throws Exception {
        prepare();
        PrintWriter out = new PrintWriter(System.out);
        FUNNELS.forEach((name, funnel) -> out.println(name + " " + funnel.hashCode()));
        STRATEGIES.forEach((name, strategy) -> out.println(name + " " + strategy.hashCode()));
        out.println("rule " + (bySize() ? "size" : "fpp"));
        out.println("--");
        try (BufferedReader script = Files.newBufferedReader(Path.of(arguments[0]))) {
            for (String line = script.readLine(); line != null; line = script.readLine()) {
                out.println(answer(line.split(" ")));
            }
        }
        out.flush();
    }
}
