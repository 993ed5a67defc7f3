# SPDX-License-Identifier: BSD-2-Clause
# The value at a pointer in JSON records: a string with its escapes decoded, any other value as it is written.
cat > e.jsonl << 'END'
{"id":"a1","v":1}
{"v":"\"id\":\"zz\"","id":"\u0061\u0031"}
{"id":"b","id":"a1"}
{"id":1.0}
{"id":1}
{"id":null}
{"other":1}

{"id":{"a":[1]}}
 {"id" : {"a":[1]} }
{"a/b":{"m~n":["x","y"]}}
END
tamis dedup --key json:/id e.jsonl
echo a list of plain lines
echo a1 > list
tamis build -o list.tamis list
tamis check list.tamis --key json:/id e.jsonl
echo a pointer with escapes, two parts, the whole
tamis dedup --key json:/a~1b/m~0n/1 --missing drop e.jsonl
printf '{"a":1,"b":2}\n{"b":2,"a":1}\n{"a":12,"b":""}\n' | tamis dedup --key json:/a --key json:/b
printf '"x"\n"\\u0078"\n3\n' | tamis dedup --key json:
