"""What the ports on one SQLite file share: its writer and its readers."""

from weftwork.adapters.sqlite.database.reader import SqliteReaders
from weftwork.adapters.sqlite.database.writer import SqliteWriter


class SqlitePort:
    """`_write` runs a job in a transaction of the writer, `_read` runs one on a reader."""

    def __init__(self, writer: SqliteWriter, readers: SqliteReaders) -> None:
        self._write = writer.submit
        self._read = readers.submit
