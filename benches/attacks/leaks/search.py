"""Search for a secret in bytes and in files: packed, in databases, and in the encodings of HTTP and URLs."""
import base64, shutil, sqlite3, subprocess, tempfile, urllib.parse, zlib
from pathlib import Path

ZSTD = shutil.which("zstd")
GZIP, ZSTD_MAGIC = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


def forms(secret):
    """Byte strings that reveal a secret: plain, percent-encoded, and in base64 at each of its three offsets."""
    plain = secret.encode()
    found = {plain, urllib.parse.quote(secret, safe="").encode(), urllib.parse.quote_plus(secret).encode()}
    for before in range(3):
        coded = base64.b64encode(b"\0" * before + plain)
        # the characters at both ends hold bits of their neighbours
        first = (0, 2, 3)[before]
        last = (before + len(plain)) * 8 // 6
        found |= {coded[first:last], coded[first:last].translate(bytes.maketrans(b"+/", b"-_"))}
    return found


def unpacked(data):
    """The bytes, and their unpacked forms."""
    yield data
    if data.startswith(GZIP):
        yield from unpacked(gunzipped(data))
    elif data.startswith(ZSTD_MAGIC) and ZSTD:
        done = subprocess.run([ZSTD, "-dcq"], input=data, capture_output=True)
        yield from unpacked(done.stdout)


def gunzipped(data):
    """All members; of a torn one the readable part."""
    out = []
    while data.startswith(GZIP):
        inflater = zlib.decompressobj(31)
        try:
            out.append(inflater.decompress(data))
        except zlib.error:
            break
        data = inflater.unused_data
    return b"".join(out)


def rows(path):
    """Every value of every table of a database, with the values of its write-ahead log."""
    with tempfile.TemporaryDirectory() as copy:
        for part in (path, Path(f"{path}-wal"), Path(f"{path}-shm")):
            if part.exists():
                shutil.copy(part, Path(copy) / part.name)
        with sqlite3.connect(Path(copy) / path.name) as database:
            names = [name for (name,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
            for name in names:
                for row in database.execute(f'SELECT * FROM "{name}"'):
                    for value in row:
                        if isinstance(value, str):
                            yield value.encode(errors="surrogateescape")
                        elif isinstance(value, bytes):
                            yield from unpacked(value)


def contents(path):
    """Searchable contents of a file, as byte strings."""
    data = path.read_bytes()
    yield from unpacked(data)
    if data.startswith(b"SQLite format 3\0"):
        yield from rows(path)


def excerpt(data, needle):
    at = data.find(needle)
    return data[max(0, at - 40):at + len(needle) + 20].decode(errors="replace").replace("\n", " ")


def find(secret, pieces):
    """Excerpt around the first form of a secret in byte strings; `None` if there is none."""
    needles = forms(secret)
    for piece in pieces:
        for needle in needles:
            if needle in piece:
                return excerpt(piece, needle)
    return None
