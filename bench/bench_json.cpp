/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * bench_json FILE [RUNS]: finds "event_id" in JSON lines in memory, with readers that check the whole record:
 * tamis, simdjson's DOM, yajl and jansson. Prints MB/s and ns a record, best of RUNS (default 5) by processor
 * time. All must find the same number of bytes. docs/PERFORMANCE.md has what the others do not check.
 */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include <jansson.h>
#include <simdjson.h>
#include <yajl/yajl_parse.h>

#include <tamis/experimental/extract.h>
#include <tamis/tamis.h>

namespace {

struct input {
    std::string text; /* and padding that simdjson may read */
    size_t size;
    std::vector<tamis_key> records;
};

[[noreturn]] void die(const char *why) {
    std::fprintf(stderr, "bench_json: %s\n", why);
    std::exit(2);
}

input read_all(const char *path) {
    input in;
    std::FILE *file = std::fopen(path, "rb");
    if (!file || std::fseek(file, 0, SEEK_END) != 0)
        die("the file cannot be read");
    in.size = static_cast<size_t>(std::ftell(file));
    std::rewind(file);
    in.text.resize(in.size + simdjson::SIMDJSON_PADDING);
    if (std::fread(&in.text[0], 1, in.size, file) != in.size)
        die("the file cannot be read");
    std::fclose(file);
    const char *at = in.text.data(), *end = at + in.size;
    while (at < end) {
        const char *line = static_cast<const char *>(std::memchr(at, '\n', static_cast<size_t>(end - at)));
        if (!line)
            line = end;
        in.records.push_back({at, static_cast<size_t>(line - at)});
        at = line + 1;
    }
    return in;
}

/* ---- readers: each returns the number of bytes of all keys ---- */

size_t by_tamis(const input &in) {
    const char *part = "json:/event_id";
    tamis_extractor_options options = TAMIS_EXTRACTOR_OPTIONS_INIT;
    tamis_extractor *extractor;
    tamis_error err;
    static tamis_extraction found[1024];
    size_t size = 0;
    options.parts = &part;
    options.part_count = 1;
    if (tamis_extractor_create(&extractor, &options, &err) != TAMIS_OK)
        die(err.text);
    for (size_t i = 0; i < in.records.size(); i += 1024) {
        const size_t count = std::min<size_t>(1024, in.records.size() - i);
        if (tamis_extractor_extract(extractor, &in.records[i], count, found, &err) != TAMIS_OK)
            die(err.text);
        for (size_t j = 0; j < count; j++)
            size += found[j].key.size;
    }
    tamis_extractor_free(extractor);
    return size;
}

size_t by_simdjson(const input &in) {
    simdjson::dom::parser parser;
    size_t size = 0;
    for (const tamis_key &record : in.records) {
        simdjson::dom::element whole;
        const char *value;
        size_t length;
        if (parser.parse(static_cast<const char *>(record.data), record.size, false).get(whole) ||
            whole["event_id"].get_c_str().get(value) || whole["event_id"].get_string_length().get(length))
            die("simdjson refuses a record");
        size += value ? length : 0;
    }
    return size;
}

struct yajl_state {
    bool is_key;
    size_t size, depth;
};

int yajl_name(void *context, const unsigned char *name, size_t size) {
    yajl_state *state = static_cast<yajl_state *>(context);
    state->is_key = state->depth == 1 && size == 8 && std::memcmp(name, "event_id", 8) == 0;
    return 1;
}

int yajl_string(void *context, const unsigned char *, size_t size) {
    yajl_state *state = static_cast<yajl_state *>(context);
    state->size += state->is_key ? size : 0;
    state->is_key = false;
    return 1;
}

int yajl_open(void *context) {
    static_cast<yajl_state *>(context)->depth++;
    return 1;
}

int yajl_close(void *context) {
    static_cast<yajl_state *>(context)->depth--;
    return 1;
}

size_t by_yajl(const input &in) {
    yajl_callbacks calls = {};
    yajl_state state = {};
    calls.yajl_map_key = yajl_name;
    calls.yajl_string = yajl_string;
    calls.yajl_start_map = yajl_open;
    calls.yajl_end_map = yajl_close;
    for (const tamis_key &record : in.records) {
        yajl_handle parser = yajl_alloc(&calls, nullptr, &state);
        if (yajl_parse(parser, static_cast<const unsigned char *>(record.data), record.size) !=
                yajl_status_ok ||
            yajl_complete_parse(parser) != yajl_status_ok)
            die("yajl refuses a record");
        yajl_free(parser);
    }
    return state.size;
}

size_t by_jansson(const input &in) {
    size_t size = 0;
    for (const tamis_key &record : in.records) {
        json_t *whole = json_loadb(static_cast<const char *>(record.data), record.size, 0, nullptr);
        if (!whole)
            die("jansson refuses a record");
        size += json_string_length(json_object_get(whole, "event_id"));
        json_decref(whole);
    }
    return size;
}

} // namespace

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        size_t (*run)(const input &in);
    } readers[] = {
        {"tamis", by_tamis}, {"simdjson DOM", by_simdjson}, {"yajl", by_yajl}, {"jansson", by_jansson}};
    double best[4] = {1e9, 1e9, 1e9, 1e9};
    const int runs = argc > 2 ? std::atoi(argv[2]) : 5;
    if (argc < 2)
        die("give a file of JSON lines that have an event_id");
    const input in = read_all(argv[1]);
    const size_t want = by_tamis(in);
    for (int run = 0; run < runs; run++) {
        for (size_t i = 0; i < 4; i++) {
            const std::clock_t start = std::clock();
            if (readers[i].run(in) != want)
                die("they are at odds");
            best[i] = std::min(best[i], static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
        }
    }
    std::printf("%zu records, %.1f MB, kernels %s\n\n%-14s%10s%14s\n", in.records.size(),
                static_cast<double>(in.size) / 1e6, tamis_kernel_name(), "", "MB/s", "ns a record");
    for (size_t i = 0; i < 4; i++)
        std::printf("%-14s%10.0f%14.1f\n", readers[i].name, static_cast<double>(in.size) / best[i] / 1e6,
                    best[i] / static_cast<double>(in.records.size()) * 1e9);
    return 0;
}
