# SPDX-License-Identifier: BSD-2-Clause
"""dedup_keys.py TAMIS SEED COUNT: deduplicates random JSON and CSV records by Python and by the command."""
import csv
import io
import json
import random
import subprocess
import sys

tamis, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
rng = random.Random(seed)
ALPHABET = 'ab,"\\/\n\t\r;é𝄞ß{}[]: 0\x7f'
COMPRESSORS = {'': ['cat'], '.gz': ['gzip', '-c'], '.zst': ['zstd', '-qc'], '.lz4': ['lz4', '-qc'], '.xz': ['xz', '-1c'],
           '.bz2': ['bzip2', '-c']}
UNPACKERS = {'': ['cat'], '.gz': ['gzip', '-dc'], '.zst': ['zstd', '-qdc'], '.lz4': ['lz4', '-dc'], '.xz': ['xz', '-dc'],
             '.bz2': ['bzip2', '-dc']}
failed = 0


def word(limit=6):
    return ''.join(rng.choice(ALPHABET) for _ in range(rng.randrange(limit)))


def escaped(text):
    """A JSON string with some characters written as escapes."""
    out = '"'
    for c in text:
        plain = json.dumps(c, ensure_ascii=rng.random() < 0.3)[1:-1]
        if rng.random() < 0.2 and ord(c) < 0x10000:
            plain = '\\u%04x' % ord(c) if rng.random() < 0.5 else '\\u%04X' % ord(c)
        out += plain
    return out + '"'


def value(ids):
    kind = rng.randrange(8)
    if kind < 5:
        return escaped(rng.choice(ids))
    return rng.choice(['7', '7.0', '-0', '1e999', '123456789012345678901234567890', 'true', 'null', '[1, 2]', '{"id":"a"}'])


def blank():
    return rng.choice(['', '', '', ' ', '\t', '  '])


def json_record(ids):
    members = [(escaped(word()), value(ids)) for _ in range(rng.randrange(3))]
    members += [('"id"', value(ids)) for _ in range(rng.choice([0, 1, 1, 1, 1, 2]))]
    rng.shuffle(members)
    body = ','.join(blank() + name + blank() + ':' + blank() + text + blank() for name, text in members)
    return (blank() + '{' + (body or blank()) + '}' + blank()).encode()


def json_key(record):
    """The key as bytes, or None."""
    text = record.decode()
    fields = json.loads(text, object_pairs_hook=lambda pairs: dict(pairs))
    if fields.get('id') is None:
        return None
    if isinstance(fields['id'], str):
        return fields['id'].encode()
    return written(text).encode()


def written(text):
    """The last member "id" of the object, as written. The decoder finds it, not a search in the text."""
    decoder, found = json.JSONDecoder(), None
    pos = text.index('{') + 1
    skip = lambda i: i + len(text[i:]) - len(text[i:].lstrip(' \t\r\n'))
    pos = skip(pos)
    while text[pos] != '}':
        name, pos = decoder.raw_decode(text, pos)
        pos = skip(skip(pos) + 1)
        begin = pos
        _, pos = decoder.raw_decode(text, pos)
        if name == 'id':
            found = text[begin:pos]
        pos = skip(pos)
        if text[pos] == ',':
            pos = skip(pos + 1)
    return found


def once(records, key):
    known, out = set(), []
    for record in records:
        k = key(record)
        if k is None or k not in known:
            out.append(record)
        if k is not None:
            known.add(k)
    return out


def pack(name, data, extension):
    with open(name + extension, 'wb') as out:
        half = data[:len(data) // 2], data[len(data) // 2:] # a key of two members
        for part in half if extension else [data]:
            out.write(subprocess.run(COMPRESSORS[extension], input=part, stdout=subprocess.PIPE, check=True).stdout)
    return name + extension


def compare(what, got, expected):
    global failed
    if got == expected:
        return
    failed += 1
    pos = next((i for i, (a, b) in enumerate(zip(got, expected)) if a != b), min(len(got), len(expected)))
    print(f'{what}: differs at byte {pos} of {len(expected)}: {got[max(0, pos - 40):pos + 40]!r}, not {expected[max(0, pos - 40):pos + 40]!r}')


def run(what, name, data, expected, options):
    for i, extension in enumerate(COMPRESSORS):
        path = pack(name, data, extension)
        done = subprocess.run([tamis, 'dedup', *options, path], stdout=subprocess.PIPE)
        compare(f'{what}, {path}', done.stdout, expected)
        out = 'out' + list(COMPRESSORS)[-i]
        subprocess.run([tamis, 'dedup', *options, path, '-o', out])
        got = subprocess.run(UNPACKERS[out[3:]] + [out], stdout=subprocess.PIPE).stdout
        compare(f'{what}, {path} to {out}', got, expected)


def run_json():
    ids = [word() for _ in range(count // 4)] + ['a', '7', 'true']
    records = [json_record(ids) for _ in range(count)]
    data = b'\n'.join(records) + b'\n'
    expected = b'\n'.join(once(records, json_key)) + b'\n'
    run('json', 'clicks.jsonl', data, expected, ['--key', 'json:/id'])
    # A planted mistake must be noticed.
    harmed = data.replace(b'"id"', b'"iD"', 1)
    if subprocess.run([tamis, 'dedup', '--key', 'json:/id'], input=harmed, stdout=subprocess.PIPE).stdout == expected:
        print('a planted difference was not seen')
        return 1
    return 0


def quoted(field):
    if not any(c in field for c in ',"\r\n') and rng.random() < 0.7:
        return field
    return '"' + field.replace('"', '""') + '"'


def run_csv():
    names = [word() for _ in range(count // 4)]
    rows = [[str(i % 97), rng.choice(names), word(12)] for i in range(count)]
    records = []
    for row in [['id', 'name', 'x']] + rows:
        records.append((','.join(map(quoted, row)) + rng.choice(['\n', '\r\n'])).encode())
    data = b''.join(records)
    parsed = list(csv.reader(io.StringIO(data.decode(), newline='')))
    if parsed != [['id', 'name', 'x']] + rows:
        print('python reads other rows than it wrote')
        return 1
    index = dict(zip(map(id, records), parsed))
    for what, options, key in (('csv by name', ['--key', 'csv:name'], lambda r: r[1]),
                               ('csv by number', ['--key', 'csv:2', '--header'], lambda r: r[1]),
                               ('csv of two', ['--key', 'csv:id', '--key', 'csv:name'], lambda r: (r[0], r[1]))):
        expected = records[:1] + once(records[1:], lambda record: key(index[id(record)]))
        run(what, 'users.csv', data, b''.join(expected), options)
    return 0


def run_fields():
    fields = [[rng.choice('abc') * rng.randrange(3) for _ in range(rng.randrange(1, 5))] for _ in range(count)]
    records = ['\t'.join(row).encode() for row in fields]
    index = dict(zip(map(id, records), fields))
    key = lambda r: index[id(r)][1] if len(index[id(r)]) > 1 else None
    run('fields', 'visits.tsv', b'\n'.join(records) + b'\n', b'\n'.join(once(records, key)) + b'\n', ['--key', 'field:2'])
    return 0


sys.exit(1 if run_json() + run_csv() + run_fields() + failed else 0)
