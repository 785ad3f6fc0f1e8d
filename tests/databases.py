"""A database of verses in two translations, as a source for SQLite."""

import sqlite3

BIBLE = "select a.text, b.text from bible a join bible b using (verse) where a.name = :source and b.name = :target"


def bible(path):
    with sqlite3.connect(path) as connection:
        connection.execute("create table bible (name text, verse integer, text text)")
        rows = [("4", 1, "In the beginning"), ("e", 1, "Im Anfang"), ("4", 2, "two"), ("e", 2, None), ("4", 3, "x")]
        connection.executemany("insert into bible values (?, ?, ?)", rows)
    connection.close()
    return path.read_bytes()
