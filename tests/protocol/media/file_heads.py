"""The first bytes of files, as programs write them."""

FRAME = b"\xff\xfb\x90\x00" + bytes(413)
"""One frame of layer III: 128 kbit/s at 44.1 kHz."""
MP4 = b"\x00\x00\x00\x20ftypisom\x00\x00\x02\x00isomiso2avc1mp41\x00\x00\x00\x08free"
M4A = b"\x00\x00\x00\x1cftypM4A \x00\x00\x02\x00M4A isomiso2"
AVIF = b"\x00\x00\x00\x20ftypavif\x00\x00\x00\x00avifmif1miafMA1B"
WEBM = b"\x1a\x45\xdf\xa3\x9f\x42\x86\x81\x01\x42\xf7\x81\x01\x42\xf2\x81\x04\x42\xf3\x81\x08\x42\x82\x84webm\x42\x87"
MKV = WEBM.replace(b"\x84webm", b"\x88matroska")
OGG = b"OggS\x00\x02" + bytes(20) + b"\x01\x13OpusHead"

HEADS_BY_TYPE: dict[str, list[bytes]] = {
    "image/png": [b"\x89PNG\r\n\x1a\n", b"\x89PNG\r\n\x1a\n<html><script>1</script>"],
    "image/jpeg": [b"\xff\xd8\xff\xe0\x00\x10JFIF", b"\xff\xd8\xff\xdb"],
    "image/gif": [b"GIF89a=1;/*", b"GIF87a<script>"],
    "image/webp": [b"RIFF\x24\x00\x00\x00WEBPVP8 "],
    "image/avif": [AVIF, b"\x00\x00\x00\x1cftypmif1\x00\x00\x00\x00mif1avifmiaf"],
    "audio/wav": [b"RIFF\x24\x00\x00\x00WAVEfmt "],
    "audio/mpeg": [b"ID3\x04\x00\x00\x00\x00\x00\x0a", FRAME, FRAME * 4],
    "audio/ogg": [OGG],
    "video/ogg": [b"OggS\x00\x02" + bytes(20) + b"\x01\x2a\x80theora"],
    "audio/flac": [b"fLaC\x00\x00\x00\x22"],
    "audio/mp4": [M4A],
    "video/mp4": [MP4, b"\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00mp42isom"],
    "video/webm": [WEBM],
    "video/x-matroska": [MKV],
    "application/pdf": [b"%PDF-1.7\n", b"%PDF-1.4 <html><script>1</script>"],
    "application/zip": [b"PK\x03\x04\x14\x00", b"PK\x05\x06" + bytes(18)],
    "application/gzip": [b"\x1f\x8b\x08\x00"],
    "image/svg+xml": [
        b"<svg xmlns='http://www.w3.org/2000/svg'>",
        b"<svg/onload=alert(1)>",
        b"\xef\xbb\xbf\n<?xml version='1.0'?>\n<!DOCTYPE svg PUBLIC '' ''><!-- x -->\n<svg>",
        b"<!-- a --><!-- b -->  <SVG>",
        b"<s:svg xmlns:s='http://www.w3.org/2000/svg'>",
        "\ufeff<svg onload=1>".encode("utf-16-le"),
    ],
    "text/html": [
        b"<html>",
        b"<!DOCTYPE html>",
        b"<!doctype HTML PUBLIC ''>",
        b"  \t\r\n\x0c<HTML lang=en>",
        b"\x00\x0b\x01<html>",
        b"\xef\xbb\xbf<script>1</script>",
        b"<!-- never closed",
        b"<!-- a --> and then words",
        b"<!--ftypisom\x00\x00\x02\x00isom",
        b"<img src=x onerror=1>",
        b"<iframe/src=x>",
        b"<body\nonload=1>",
        b"</p><script>",
        b"<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'>",
        "\ufeff  <script>1</script>".encode("utf-16-be"),
    ],
    "application/xml": [b"<?xml version='1.0'?><feed>", b"<feed xmlns='urn:x'>", b"<!DOCTYPE feed [<!ENTITY a 'b'>]>"],
    "application/json": [b'{"a": 1}', b"[]", b' [1, "x"]', b'\xef\xbb\xbf{"a":1}'],
    "text/plain": [
        b"",
        b"hello\n",
        "Grüße 🧵\r\n\tdone\x0c".encode(),
        b"\xef\xbb\xbfmarked",
        "\ufeffwide".encode("utf-16-le"),
        "\ufeffwide".encode("utf-16-be"),
        b"[a link](somewhere)",
        b"{not json}",
        b'{"cut": ',
        b"<you> said <hello>",
        b"a < b",
        b"fLaC",
        b"+ADw-script+AD4-alert(1)+ADw-/script+AD4-",
    ],
    "application/octet-stream": [
        b"\x00",
        b"\x7fELF\x02\x01\x01\x00",
        b"MZ\x90\x00",
        b"words and a \x00",
        b"words and a \x1b$B",
        b"latin \xe9",
        b"\xff\xfb\x90\x00",
        b"\xff\xfb\x90\x00" + b"then words" * 100,
        b"\xff\xfe\xff",
        b"RIFF\x00\x00\x00\x00AVI ",
        b"\x00\x00\x00\x14ftypqt  \x00\x00\x00\x00qt  ",
        b"<ABCftypisom\x00\x00\x02\x00isom",
        b"\x1a\x45\xdf\xa3\x00",
        b"OggS\x01",
        b"ID3\xff\xff\xff\xff\xff\xff\xff",
    ],
}
ACTIVE = ("text/html", "image/svg+xml", "application/xml")
"""What a browser might run."""
ALL_HEADS = [(media_type, head) for media_type, heads in HEADS_BY_TYPE.items() for head in heads]
