"""Evil JSON with its verdicts. A fragment stands where a value is expected; a document is a whole body."""

import gzip
import json
from typing import NamedTuple

SECRET_MARK = b"s3cr3t-value"
"""Stands in what is refused, and must not come back."""
MAX_BODY_BYTES = 2**20


class HostileJson(NamedTuple):
    """Bytes, and whether the decoder must refuse them."""

    data: bytes
    refused: bool = True


def _ok(data: bytes) -> HostileJson:
    return HostileJson(data, refused=False)


def _text(data: bytes) -> bytes:
    return b'"' + data + b'"'


REFUSED_SYNTAX = [
    *("[1,]", '{"a":1,}', "[,1]", "[1,,2]", "[1 2]", '{"a" 1}', '{"a"::1}', '{"a":}', "{:1}", "{a:1}", "{1:1}"),
    *('"""a"""', "[1}", "[1", '{"a":1', "[]]", "tru", "True", "None", "undefined", "alert(1)", "1+1", "1 2", "1;"),
    *("[\x0b1]", "[\x0c1]", "[\x001]"),
]
"""Named by themselves."""
SYNTAX: dict[str, HostileJson] = {
    **{text: HostileJson(text.encode()) for text in REFUSED_SYNTAX},
    "single quotes": HostileJson(b"'" + SECRET_MARK + b"'"),
    "back quotes": HostileJson(b"`" + SECRET_MARK + b"`"),
    "line comment": HostileJson(b"1 // " + SECRET_MARK + b"\n"),
    "block comment": HostileJson(b"/* " + SECRET_MARK + b" */ 1"),
    "hash comment": HostileJson(b"1 # " + SECRET_MARK + b"\n"),
    "open text": HostileJson(b'"' + SECRET_MARK),
    "open name": HostileJson(b'{"' + SECRET_MARK),
    "nothing": HostileJson(b""),
    "no-break space": HostileJson("[\u00a01]".encode()),
    "byte-order mark inside": HostileJson("[\ufeff1]".encode()),
    "all white space": _ok(b" \t\r\n[ \t\r\n1 \t\r\n] \t\r\n"),
    "much white space": _ok(b" " * 500_000 + b"1" + b"\n" * 500_000),
}

REFUSED_NUMBERS = [
    *("NaN", "nan", "Infinity", "-Infinity", "-NaN", "1e999", "-1e999", "1.8e308", "+1", "01", "-01", "00", ".5"),
    *("5.", "1e", "1e+", "--1", "-", "0x10", "0o17", "1_000", "1,5", "-9007199254740992", "18446744073709551616"),
]
"""Named by themselves."""
NUMBERS: dict[str, HostileJson] = {
    **{text: HostileJson(text.encode()) for text in REFUSED_NUMBERS},
    "many digits over": HostileJson(b"1" + b"0" * 400 + b".0"),
    "other digits": HostileJson("\u0661\u0662".encode()),
    "big int": HostileJson(b"9007199254740992"),
    "thousands of digits": HostileJson(b"9" * 5000),
    "a hundred thousand digits": HostileJson(b"9" * 100_000),
    "largest int": _ok(b"9007199254740991"),
    "smallest int": _ok(b"-9007199254740991"),
    "minus zero": _ok(b"-0"),
    "minus zero point": _ok(b"-0.0"),
    "underflow": _ok(b"1e-400"),
    "smallest": _ok(b"5e-324"),
    "largest": _ok(b"1.7976931348623157e308"),
    "a fraction of many digits": _ok(b"0." + b"3" * 100_000),
    "a whole float": _ok(b"1.0"),
    "beyond exact ints": _ok(b"1e21"),
    "an exponent of zeros": _ok(b"1e" + b"0" * 1000 + b"1"),
}

TEXTS: dict[str, HostileJson] = {
    "lone high surrogate": HostileJson(_text(b"\\ud800" + SECRET_MARK)),
    "lone low surrogate": HostileJson(_text(b"\\udfff" + SECRET_MARK)),
    "swapped surrogates": HostileJson(_text(b"\\ude00\\ud83d")),
    "two high surrogates": HostileJson(_text(b"\\ud83d\\ud83d\\ude00")),
    "escaped NUL": HostileJson(_text(b"\\u0000" + SECRET_MARK)),
    "raw NUL": HostileJson(_text(b"\x00")),
    "raw line feed": HostileJson(_text(b"a\nb")),
    "raw tab": HostileJson(_text(b"a\tb")),
    "raw escape": HostileJson(_text(b"\x1b[31m")),
    "unknown escape": HostileJson(_text(b"\\x41")),
    "short escape": HostileJson(_text(b"\\u12")),
    "no escape": HostileJson(_text(b"\\u12zz")),
    "escape at the end": HostileJson(b'"\\"'),
    "not UTF-8": HostileJson(_text(b"\xff" + SECRET_MARK)),
    "lone continuation": HostileJson(_text(b"\x80")),
    "cut sequence": HostileJson(_text(b"\xe2\x82")),
    "overlong NUL": HostileJson(_text(b"\xc0\x80")),
    "overlong slash": HostileJson(_text(b"\xc0\xaf")),
    "overlong quote": HostileJson(_text(b"\xc0\xa2")),
    "encoded surrogate": HostileJson(_text(b"\xed\xa0\x80")),
    "encoded pair": HostileJson(_text(b"\xed\xa0\xbd\xed\xb8\x80")),
    "beyond Unicode": HostileJson(_text(b"\xf4\x90\x80\x80")),
    "five bytes": HostileJson(_text(b"\xf8\x88\x80\x80\x80")),
    "latin-1": HostileJson(_text(b"Gr\xfc\xdfe")),
    "pair": _ok(_text(b"\\ud83d\\ude00")),
    "every escape": _ok(_text(b'\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041')),
    "DEL": _ok(_text(b"\x7f")),
    "line separators": _ok(_text("\u2028\u2029\u0085".encode())),
    "no character": _ok(_text("\ufffe\uffff\ufdd0".encode())),
    "byte-order mark as text": _ok(_text("\ufeff".encode())),
    "right to left": _ok(_text("\u202eevil\u202c".encode())),
    "a thousand accents": _ok(_text(("a" + "\u0301" * 1000).encode())),
    "zero width": _ok(_text("\u200b\u200d\u2060".encode())),
    "script": _ok(_text(b"<script>alert(1)</script>")),
    "end of script": _ok(_text(b"</script><!--")),
    "query": _ok(_text(b"'; DROP TABLE runs; --")),
    "lookup": _ok(_text(b"${jndi:ldap://127.0.0.1/a}")),
    "template": _ok(_text(b"{{7*7}} {% raw %} #{1} %s %n {0}")),
    "path": _ok(_text(b"../../../../etc/passwd")),
    "frame": _ok(_text(b"\\n\\ndata: x\\nid: 99\\n\\n")),
    "log line": _ok(_text(b'\\r\\n{\\"level\\":\\"info\\"}')),
    "mask": _ok(_text(b"[REDACTED:secret]")),
    "large": _ok(_text(b"x" * 1_000_000)),
    "large in escapes": _ok(_text(b"\\u0041" * 170_000)),
    "large outside ASCII": _ok(_text("\U0001f9f6".encode() * 250_000)),
}

NAMES: dict[str, HostileJson] = {
    "twice": HostileJson(b'{"a":"' + SECRET_MARK + b'","a":2}'),
    "twice by escape": HostileJson(b'{"a":1,"\\u0061":2}'),
    "twice below": HostileJson(b'[[{"a":{"b":1,"b":1}}]]'),
    "twice among many": HostileJson(b"{" + b",".join(b'"k%d":1' % (at % 9_999) for at in range(10_000)) + b"}"),
    "twice empty": HostileJson(b'{"":1,"":2}'),
    "NUL": HostileJson(b'{"\\u0000":1}'),
    "lone surrogate": HostileJson(b'{"\\ud800":1}'),
    "not UTF-8": HostileJson(b'{"\xff":1}'),
    "empty": _ok(b'{"":1}'),
    "prototype": _ok(b'{"__proto__":{"a":1},"constructor":{"prototype":1}}'),
    "dunder": _ok(b'{"__class__":"x","__init__":1,"__dict__":{}}'),
    "pointer letters": _ok(b'{"~":1,"/":2,"~1~0":3,"a/b":4,"%2F":5}'),
    "reference": _ok(b'{"$ref":"http://127.0.0.1:1/x","$schema":"file:///etc/passwd","$id":"x"}'),
    "long": _ok(b'{"' + b"n" * 500_000 + b'":1}'),
    "alike": _ok('{"\u00e9":1,"e\u0301":2}'.encode()),
    "numbers": _ok(b'{"0":1,"-1":2,"1e3":3}'),
}


def _nest(depth: int, left: bytes, right: bytes, inner: bytes = b"1") -> bytes:
    return left * depth + inner + right * depth


SHAPES: dict[str, HostileJson] = {
    "lists, too deep": HostileJson(_nest(65, b"[", b"]")),
    "objects, too deep": HostileJson(_nest(65, b'{"a":', b"}")),
    "both, too deep": HostileJson(_nest(33, b'[{"a":', b"}]")),
    "far too deep": HostileJson(_nest(10_000, b"[", b"]")),
    "a hundred thousand deep": HostileJson(b"[" * 100_000),
    "half a million deep": HostileJson(b"[" * 500_000),
    "objects, a hundred thousand deep": HostileJson(b'{"a":' * 100_000),
    "lists, deep": _ok(_nest(60, b"[", b"]")),
    "objects, deep": _ok(_nest(60, b'{"a":', b"}")),
    "too wide": HostileJson(b"[" + b"1," * 100_000 + b"1]"),
    "too wide and empty": HostileJson(b"[" + b"[]," * 100_000 + b"[]]"),
    "too many members": HostileJson(b"{" + b",".join(b'"%d":1' % at for at in range(100_001)) + b"}"),
    "too many in all": HostileJson(b"[" + b",".join([b"[" + b"0," * 999 + b"0]"] * 101) + b"]"),
    "wide": _ok(b"[" + b"1," * 99_900 + b"1]"),
    "wide and empty": _ok(b"[" + b"{}," * 99_900 + b"{}]"),
    "many members": _ok(b"{" + b",".join(b'"%d":1' % at for at in range(70_000)) + b"}"),
    "deep and wide": _ok(_nest(50, b"[", b"]", b"[" + b"1," * 90_000 + b"1]")),
    "a tree": _ok(b"[" + b",".join([_nest(40, b"[", b"]")] * 2_000) + b"]"),
}

FRAGMENTS: dict[str, HostileJson] = {
    f"{kind}: {name}": evil
    for kind, table in {
        "syntax": SYNTAX,
        "number": NUMBERS,
        "text": TEXTS,
        "name": NAMES,
        "shape": SHAPES,
    }.items()
    for name, evil in table.items()
}

_DOCUMENT = json.dumps({"workflowId": "conformance-noop", "reason": SECRET_MARK.decode()})

DOCUMENTS: dict[str, bytes] = {
    "byte-order mark": b"\xef\xbb\xbf" + _DOCUMENT.encode(),
    "UTF-16": _DOCUMENT.encode("utf-16"),
    "UTF-16, little end": _DOCUMENT.encode("utf-16-le"),
    "UTF-16, big end": _DOCUMENT.encode("utf-16-be"),
    "UTF-32": _DOCUMENT.encode("utf-32"),
    "UTF-32, big end": _DOCUMENT.encode("utf-32-be"),
    "UTF-7 mark": b"+/v8-" + _DOCUMENT.encode(),
    "a space": b" ",
    "a line end": b"\n",
    "a NUL": b"\x00",
    "NUL behind": _DOCUMENT.encode() + b"\x00",
    "junk behind": _DOCUMENT.encode() + b"x",
    "two": _DOCUMENT.encode() * 2,
    "two lines": _DOCUMENT.encode() + b"\n" + _DOCUMENT.encode(),
    "record separator": b"\x1e" + _DOCUMENT.encode() + b"\n",
    "guard": b")]}',\n" + _DOCUMENT.encode(),
    "gzip": gzip.compress(_DOCUMENT.encode()),
    "MessagePack": b"\x81\xaaworkflowId\xa1x",
    "CBOR": b"\xa1jworkflowIdax",
    "form": b"workflowId=conformance-noop",
    "XML": b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>',
    "YAML": b"workflowId: conformance-noop\n",
    "pickle": b"\x80\x04\x95\x0b\x00\x00\x00\x00\x00\x00\x00\x8c\x07builtins.",
    "a list": b'["' + SECRET_MARK + b'"]',
    "a text": b'"' + SECRET_MARK + b'"',
    "a number": b"5",
    "null": b"null",
    "true": b"true",
    "random": bytes(range(256)) * 64,
}
