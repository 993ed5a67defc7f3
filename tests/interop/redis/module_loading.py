# SPDX-License-Identifier: BSD-2-Clause
"""Loading the Redis module into servers that cannot be run here: a server is a table of functions, found by name."""
import ctypes

from module_server import MODULE, is_true, same

FUNCTION = ctypes.CFUNCTYPE(ctypes.c_void_p, *(6 * [ctypes.c_void_p]))
# From which release of Redis on a server has the functions that the module may lack.
NEWER = {"GetCommand": 70, "SetCommandInfo": 70, "RegisterStringConfig": 70, "LoadConfigs": 70, "ReplyWithBool": 70,
         "ReplyWithMap": 70, "TryAlloc": 70, "GetAbsExpire": 70, "SetAbsExpire": 70, "SetCommandACLCategories": 72,
         "TryCalloc": 74, "AddACLCategory": 74, "LoadDefaultConfigs": 80}
POINTERS = ("GetCommand", "CreateDataType")  # functions that do not return 0, OK


class FakeServer:
    """The functions of a release, and what the module called: name and arguments, texts as texts."""

    def __init__(self, release, without=()):
        self.release, self.without, self.calls, self.functions, self.commands = release, without, [], {}, []
        self.find = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p))(self.find_function)
        self.context = ctypes.c_void_p(ctypes.cast(self.find, ctypes.c_void_p).value)

    def find_function(self, name, function):
        name = name.decode().removeprefix("RedisModule_")
        if NEWER.get(name, 0) > self.release or name in self.without:
            return 1
        self.functions[name] = FUNCTION(lambda *arguments: self.called(name, arguments))
        function[0] = ctypes.cast(self.functions[name], ctypes.c_void_p).value
        return 0

    def called(self, name, arguments):
        texts = {"CreateCommand": (1, 3), "GetCommand": (1,), "AddACLCategory": (1,), "SetCommandACLCategories": (1,),
                 "Log": (1, 2), "CreateDataType": (1,), "RegisterStringConfig": (1,)}.get(name, ())
        words = [ctypes.cast(arguments[i], ctypes.c_char_p).value.decode() for i in texts]
        if name == "RegisterStringConfig":
            words.append(arguments[3] or 0)  # flags
        if name == "GetCommand":
            self.commands.append(words[0])
            return len(self.commands)
        if name == "SetCommandACLCategories":
            words.insert(0, self.commands[arguments[0] - 1])
        self.calls.append((name, *words))
        return 1 if name in POINTERS else 0

    def load(self):
        return ctypes.CDLL(MODULE).RedisModule_OnLoad(ctypes.byref(self.context), None, 0)

    def calls_of(self, name):
        return [call[1:] for call in self.calls if call[0] == name]


def test_acl_categories():
    """From Redis 7.4 on commands have the categories of RedisBloom too, in 7.2 those of every server, before none."""
    newest, middle, old = FakeServer(74), FakeServer(72), FakeServer(62)
    for server in (newest, middle, old):
        same(f"load into {server.release}", server.load(), 0)
        is_true("types", {("MBbloom--",), ("MBbloomCF",)} <= set(server.calls_of("CreateDataType")))
    flags = dict(newest.calls_of("CreateCommand"))
    same("commands", dict(old.calls_of("CreateCommand")), flags)
    same("added", newest.calls_of("AddACLCategory"), [("bloom",), ("cuckoo",)])
    same("not added", [server.calls_of("AddACLCategory") for server in (middle, old)], [[], []])
    same("none", old.calls_of("SetCommandACLCategories"), [])
    categories, fewer = dict(newest.calls_of("SetCommandACLCategories")), dict(middle.calls_of("SetCommandACLCategories"))
    same("of all", (categories.keys(), fewer.keys()), (flags.keys(), flags.keys()))
    for name, its_flags in flags.items():
        expected = "read" if "readonly" in its_flags else "write"
        expected += " fast" if "fast" in its_flags else " slow"
        same(name, fewer[name], expected)
        if name[:3] in ("bf.", "cf."):
            same(name, categories[name], expected + (" bloom" if name.startswith("bf.") else " cuckoo"))


def test_names_of_settings():
    """Redis 8 gets the names that RedisBloom has there. Older servers do not know the flag for that."""
    newest, older = FakeServer(80), FakeServer(74)
    for server in (newest, older):
        same(f"load into {server.release}", server.load(), 0)
    names = ("bf-error-rate", "bf-initial-size", "bf-expansion-factor", "cf-initial-size", "cf-bucket-size", "cf-max-iterations",
             "cf-expansion-factor", "cf-max-expansions")
    own = [("bf-kind", 0), ("strict", 0)]
    same("older", older.calls_of("RegisterStringConfig"), [(name, 0) for name in names] + own)
    same("newest", newest.calls_of("RegisterStringConfig"), [(f"{name}|bf.{name}", 1 << 9) for name in names] + own)


def test_missing_function():
    """A server without a function that is needed refuses the module; the log names the function."""
    server = FakeServer(74, without=("GetContextFlags",))
    same("refused", server.load(), 1)
    same("log", server.calls, [("Log", "warning", "tamis: the server lacks RedisModule_%s; use Redis 6.2 or newer")])


TESTS = (test_acl_categories, test_names_of_settings, test_missing_function)
