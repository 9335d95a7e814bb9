"""Whether a trainer's own version of `datasets` loads the files of the data, and with which keys and types.

Source: datasets 4.0 to 5.2, packaged_modules (json, csv, parquet), table.py (cast_array_to_feature), arrow_writer.py,
utils/json.py, measured on the sets of tests/parity/sets_to_read.py and files_to_read.py. Columns, keys and types are
those of the first table: 10 MB of a JSON file, 10,000 rows of a CSV, the schema of a Parquet file. Every later table is
cast to them: it may lack some, never have more. pyarrow is given the same bytes in the same blocks, so that it types
them alike.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import accumulate, islice
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.json as paj
import pyarrow.parquet as pq

from sftui.fast_json import orjson
from sftui.model import Problem
from sftui.text import visible
from sftui.trainers.versions import at_least, parse

if TYPE_CHECKING:
    from sftui.sources import DataFile
    from sftui.trainers.reading import Reader

CHUNK, CSV_ROWS = 10 << 20, 10_000
LISTED = 256 << 20
"""Bytes of the longest JSON list that is looked at, since it is read whole."""
JOINS_ROWS = (4, 8, 5)
"""The first datasets that puts tables of one row together before it casts them."""
DEEPEST = 500
"""Brackets within each other from which a row is left to its own reading, which is bounded."""
_BARE = re.compile(
    rb'^[ \t\r]*(?:null|true|false|-?[\d.]+(?:[eE][-+]?\d+)?|"(?:[^"\\\n]|\\.)*")[ \t\r]*$', re.MULTILINE
)
"""A row that is a bare value: it says itself that it is no object."""
_BRACKETS = bytes(set(range(256)) - set(b"[]{}\n"))
FIRST = "have that file read first (its name or its position in the list decides), or `sftui convert -o OUT.parquet`"
NOTHING = "nothing (null or an empty list)"
_NAMES = {
    **{"null": NOTHING, "boolean": "a boolean", "integer": "an integer", "floating": "a fraction"},
    **{"temporal": "a date", "struct": "an object", "list": "a list", "large_list": "a list", "map": "a map"},
    **{"string": "text", "large_string": "text"},
}
_UNTYPED, _VIEWS = ("nested", "interval", "run_end_encoded"), ("string_view", "binary_view")
BOM = b"\xef\xbb\xbf"
Path = list[str | int]
"""Keys from a row inwards, and 0 for the items of a list."""


class LoadResult(NamedTuple):
    """The Arrow schema of the rows, None where none is known; or why the files are refused."""

    schema: pa.Schema | None
    problem: Problem | None = None


class Unfit(Exception):
    """What a place holds that its type is not made for: the path, what is there, and what the place was seen to hold
    ("" for a key or column that it has not)."""

    def __init__(self, path: str, have: str, want: str) -> None:
        super().__init__(path, have, want)
        self.path, self.have, self.want = path, have, want


class _FileTable(NamedTuple):
    """A table of a file, or why there is none; its first row has the number `first`, and is called a `noun`. `lines`
    are those of JSON of which the table can be made again."""

    file: int
    table: pa.Table | Exception
    first: int
    noun: str
    lines: Sequence[bytes] = ()

    @property
    def rows(self) -> int:
        """How many there are, as far as is known."""
        return len(self.lines) or (0 if isinstance(self.table, Exception) else self.table.num_rows)


# — what goes into what —


def _fit(array: Any, want: pa.DataType, path: str) -> None:
    """Unfit where the values of an array cannot be cast to a type."""
    have = array.type
    if have == want or isinstance(want, pa.JsonType) or pa.types.is_null(have):
        return
    if pa.types.is_struct(have) and pa.types.is_struct(want):
        for child, one in zip(array.flatten(), have):
            at = want.get_field_index(one.name)
            if at < 0:
                raise Unfit(f"{path}/{one.name}", "key", "more")
            _fit(child, want.field(at).type, f"{path}/{one.name}")
        return
    if _is_list(have) and _is_list(want):
        ours, theirs = getattr(have, "list_size", None), getattr(want, "list_size", None)
        if theirs is None or theirs == ours:
            return _fit(array.flatten(), want.value_type, f"{path}/[]")
    elif not any(map(pa.types.is_nested, (have, want))) and not pa.types.is_null(want):
        with suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError):
            array.cast(want)
            return
    raise Unfit(path, _named(have), _named(want))


def _is_list(one: pa.DataType) -> bool:
    return bool(pa.types.is_list(one) or pa.types.is_large_list(one) or pa.types.is_fixed_size_list(one))


def _named(one: pa.DataType) -> str:
    """What values of a type are called."""
    found = (words for name, words in _NAMES.items() if getattr(pa.types, f"is_{name}")(one))
    return next(found, f"a value of Arrow type {one}")


def _typed(one: pa.DataType, path: str, views: bool) -> pa.DataType:
    """The type that `datasets` has for one of Arrow's (features.py, _arrow_to_datasets_dtype), which has `views` of
    texts since 4.7 at the latest; Unfit for none."""
    if pa.types.is_struct(one):
        return pa.struct([(child.name, _typed(child.type, f"{path}/{child.name}", views)) for child in one])
    if pa.types.is_dictionary(one):
        return _typed(one.value_type, path, views)
    if _is_list(one):
        _typed(one.value_type, f"{path}/[]", views)
    elif any(getattr(pa.types, f"is_{name}")(one) for name in (*_UNTYPED, *(() if views else _VIEWS))):
        raise Unfit(path, _named(one), "")
    return one


# — places that are kept as JSON —


def mixed_places(examples: Sequence[Any]) -> list[Path]:
    """The places of objects that do not all have the same keys, and of objects or lists next to other values."""
    found: list[Path] = []
    left: list[tuple[Path, list[Any]]] = [([], list(examples))]
    for path, values in left:
        held = [value for value in values if value is not None]
        kinds = set(map(type, held))
        if kinds == {dict} and path and (not held[0] or any(value.keys() != held[0].keys() for value in held)):
            found.append(path)
        elif kinds == {dict}:
            keys = dict.fromkeys(key for value in held for key in value)
            left += [([*path, key], [value.get(key) for value in held]) for key in keys]
        elif kinds == {list}:
            left.append(([*path, 0], [one for value in held for one in value]))
        elif kinds & {dict, list}:
            found.append(path)
    return found


def _encoded(value: Any, path: Sequence[str | int], whole: bool) -> Any:
    """A value with what stands at a place in it as JSON text; not `whole`: as any text, where nobody reads it."""
    if value is None:
        return None
    if path and path[0] == 0:
        return [_encoded(one, path[1:], whole) for one in value]
    if path:
        return {**value, path[0]: _encoded(value.get(path[0]), path[1:], whole)}
    if not whole:
        return ""
    with suppress(ValueError, RecursionError, TypeError):
        json.loads(value)
        return value
    return json.dumps(value)


def _as_json(one: pa.DataType, path: Sequence[str | int]) -> pa.DataType:
    """A type with JSON at a place in it."""
    if not path:
        return pa.json_()
    if path[0] == 0:
        return pa.list_(_as_json(one.value_type, path[1:]))
    return pa.struct([(f.name, _as_json(f.type, path[1:]) if f.name == path[0] else f.type) for f in one])


def _even(array: Any) -> bool:
    """Whether all objects inside have all keys, none of them null, so that no place of them can be mixed."""
    if not pa.types.is_struct(array.type):
        return not _is_list(array.type) or _even(array.flatten())
    children = array.drop_null().flatten()
    return bool(children) and all(not child.null_count and _even(child) for child in children)


def _objects(lines: bytes) -> list[Any]:
    """What pandas' ujson makes of lines, whose ValueError is that of numbers beyond 64 bits, too."""
    if orjson is not None and re.search(rb"\d{19}", lines) is None:
        with suppress(ValueError):  # NaN and lone surrogates are for `json`
            return list(map(orjson.loads, lines.splitlines()))
    return [json.loads(line, parse_constant=lambda _: None, parse_int=_whole) for line in lines.splitlines()]


def _whole(digits: str) -> int:
    if not -(2**63) <= (number := int(digits)) < 2**64:
        raise ValueError(f"an integer beyond 64 bits: {digits[:40]}")
    return number


def _lines(objects: Iterable[Any]) -> bytes:
    if orjson is not None:
        with suppress(TypeError):  # numbers beyond 64 bits are for `json`
            return b"\n".join(map(orjson.dumps, objects))
    return "\n".join(map(json.dumps, objects)).encode()


def _parse(lines: bytes, keeps: bool, paths: list[Path], examples: list[Any] | None = None) -> pa.Table:
    """JSON lines as a table, by datasets' steps: blocks grow, and where it `keeps` places as JSON, `paths` grow by
    those that hold several kinds. What pyarrow raises."""
    held, batch, size, known = examples, lines, CHUNK // 32, list(paths)
    while True:
        if paths and batch is lines:
            held = made = held or _objects(lines)
            for kept in paths:
                made = [_encoded(one, kept, kept not in known) for one in made]
            batch = _lines(made)
        if keeps and len(batch) // 8 > size:
            size = len(batch)
        try:
            return paj.read_json(pa.BufferReader(batch), read_options=paj.ReadOptions(block_size=size))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            said = str(error)
            changed = re.search(r"JSON parse error: Column\((.*)\) changed from", said, re.DOTALL)
            if keeps and changed and changed[1]:
                path = [0 if key == "[]" else key for key in changed[1].strip("/").split("/")]
                if any(path[: len(one)] == one for one in paths):
                    raise
                paths[:] = [*(one for one in paths if one[: len(path)] != path), path]
                batch = lines
            elif size < len(batch) and (
                "straddling" in said
                or ("JSON conversion to" in said if keeps else not isinstance(error, pa.ArrowInvalid))
            ):
                size *= 2
            else:
                raise


class _TableLoader:
    """One load: the schema once it is known, whose the first table was, the places kept as JSON, and tables of one row,
    which wait for others."""

    def __init__(self, reader: Reader) -> None:
        self._keeps, self._pandas = reader.keeps, reader.pandas
        self._joins = at_least(parse(reader.version, reader.library), JOINS_ROWS)
        self.titles: list[str] = []
        self.schema: pa.Schema | None = None
        self.begun = 0
        self._paths: list[Path] = []
        self._empty: set[str] = set()
        self._probed = False
        self._single: list[_FileTable] = []

    def run(self, files: Iterable[DataFile], *, first: bool = False) -> tuple[_FileTable, Exception] | None:
        """Every table of every file, or the `first` of all; the first that is refused, and why."""
        for number, file in enumerate(files):
            self.titles.append(file.title)
            for part in getattr(self, f"_{file.kind}")(file, number):
                refused = (part, part.table) if isinstance(part.table, Exception) else self._take(part, part.table)
                if refused is not None:
                    return refused
                if first:
                    return self._flush()
        return self._flush()

    def _json(self, file: DataFile, number: int) -> Iterator[_FileTable]:
        line = 1
        with file.open() as stream:
            while batch := stream.read(CHUNK):
                examples, listed, opening = None, batch.startswith(b"["), not number and line == 1
                if self._keeps and opening:
                    batch = batch.removeprefix(BOM)
                if listed and file.size > LISTED:
                    return
                batch += stream.read() if listed and self._keeps else stream.readline()
                if listed and self._keeps:
                    with suppress(ValueError, RecursionError):
                        found = json.loads(batch, parse_constant=lambda _: None, parse_int=_whole)
                        examples = [one if isinstance(one, dict) else {"text": one} for one in found]
                        batch = _lines(examples)
                if _deep(batch, listed) or _BARE.search(batch):
                    return
                if self._keeps and opening and self.schema is None and not _plain(batch):
                    with suppress(ValueError, RecursionError):
                        examples = examples or _objects(batch)
                        self._paths += mixed_places(examples)
                lines = batch.split(b"\n")
                table: pa.Table | Exception
                try:
                    table = self._kept(_parse(batch, self._keeps, self._paths, examples))
                    self._probed |= self._keeps and opening and not listed
                except pa.ArrowInvalid as error:
                    table = self._by_pandas(file, error)
                    lines = lines if table is error else []
                except (pa.ArrowException, ValueError, TypeError, AttributeError) as error:
                    table = error
                if not lines:
                    yield _FileTable(number, table, 0, "record")
                    return
                yield _FileTable(number, table, 0 if listed else line, "record" if listed else "line", lines)
                line += len(lines) - 1

    def again(self, part: _FileTable, rows: int) -> pa.Table:
        """A table of the first rows of a part alone."""
        if not part.lines:
            return pa.table({}) if isinstance(part.table, Exception) else part.table.slice(0, rows)
        return self._kept(_parse(b"\n".join(part.lines[:rows]), self._keeps, list(self._paths)))

    def _kept(self, table: pa.Table) -> pa.Table:
        """A table with the types of places that are kept as JSON, where it says which types there are."""
        if self.schema is not None or not self._paths:
            return table
        whole = pa.struct(list(table.schema))
        for path in self._paths:
            whole = _as_json(whole, path)
        return pa.table([pa.nulls(table.num_rows, one.type) for one in whole], schema=pa.schema(list(whole)))

    def _by_pandas(self, file: DataFile, refused: Exception) -> pa.Table | Exception:
        """What pandas makes of a file that pyarrow refuses, or why it is no table; `refused` where pandas does, too."""
        import pandas as pd

        try:
            with file.open() as stream:
                frame = pd.read_json(stream, dtype_backend="pyarrow")
        except (ValueError, TypeError, AttributeError, OverflowError):
            return refused
        frame.columns = ["text"] if frame.columns.tolist() == [0] else frame.columns
        try:
            return pa.Table.from_pandas(frame, preserve_index=False) if len(frame) else refused
        except (pa.ArrowException, TypeError, OverflowError) as error:
            return error

    def _csv(self, file: DataFile, number: int) -> Iterator[_FileTable]:
        import pandas as pd

        row = 0
        with file.open() as stream:
            try:
                for frame in pd.read_csv(stream, sep=file.separator, iterator=True, chunksize=CSV_ROWS):
                    table = pa.Table.from_pandas(frame)
                    yield _FileTable(number, table, row, "row")
                    row += table.num_rows
            except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
                if isinstance(error, OverflowError) and self._pandas < (3,):
                    return  # which reads such numbers as text
                yield _FileTable(number, error, row, "row")

    def _parquet(self, file: DataFile, number: int) -> Iterator[_FileTable]:
        """Its schema, and of columns that are typed otherwise the values."""
        with file.open() as stream, pq.ParquetFile(stream) as opened:
            none, row, self._probed = opened.schema_arrow.empty_table(), 0, True
            yield _FileTable(number, none, 0, "row")
            known = {} if self.schema is None else dict(zip(self.schema.names, self.schema.types))
            other = [one.name for one in none.schema if known[one.name] != one.type]
            for batch in opened.iter_batches(columns=other) if other else ():
                table = pa.Table.from_batches([batch])
                yield _FileTable(number, table, row, "row")
                row += table.num_rows

    def _take(self, part: _FileTable, table: pa.Table) -> tuple[_FileTable, Exception] | None:
        if self._joins and table.num_rows == 1 and not self._probed:
            self._single.append(part)
            return None
        return self._flush() or self._refused(part, table)

    def _flush(self) -> tuple[_FileTable, Exception] | None:
        """Tables of one row in succession, which must be quite alike to be put together."""
        held, self._single = self._single, []
        for part in held:
            assert not isinstance(part.table, Exception) and not isinstance(held[0].table, Exception)
            ours, theirs = held[0].table.schema, part.table.schema
            other = next((one for one in theirs if one.name not in ours.names or ours.field(one.name) != one), None)
            if ours.names != theirs.names or other is not None:
                lacks = next((name for name in ours.names if name not in theirs.names), "")
                name = lacks or (other.name if other is not None else theirs.names[0])
                self.begun = held[0].file
                return part, Unfit(f"/{name}", "alone", "lacks" if lacks else "more")
            refused = self._refused(part, part.table)
            if refused is not None:
                return refused
        return None

    def _refused(self, part: _FileTable, table: pa.Table) -> tuple[_FileTable, Exception] | None:
        try:
            if self.schema is None:
                self.begun = part.file
                self.schema = pa.schema(
                    [(one.name, _typed(one.type, f"/{one.name}", self._keeps)) for one in table.schema]
                )
                rows = table.num_rows
                self._empty = {name for name in table.column_names if rows and table[name].null_count == rows}
            self.fits(table, lined=bool(part.lines))
        except Unfit as error:
            return part, error
        return None

    def fits(self, table: pa.Table, *, lined: bool) -> None:
        """Unfit where the values of a table cannot be cast to the schema; objects of JSON lines become text."""
        schema = table.schema if self.schema is None else self.schema
        for name, column in zip(table.column_names, table.columns):
            at = schema.get_field_index(name)
            if at < 0:
                raise Unfit(f"/{name}", "column", "more")
            want = schema.field(at).type
            if not (lined and self._probed and pa.types.is_struct(column.type) and pa.types.is_string(want)):
                try:
                    _fit(column.combine_chunks(), want, f"/{name}")
                except Unfit as error:  # pandas has no type for a column without values
                    raise Unfit(error.path, error.have, NOTHING) if name in self._empty else error from None


def _deep(lines: bytes, listed: bool) -> bool:
    """Whether brackets stand within each other very deep, those in texts included; `listed`: not by lines."""
    found = lines.translate(None, _BRACKETS)
    for line in (found.replace(b"\n", b""),) if listed else found.split(b"\n"):
        depths = accumulate(1 if byte in b"[{" else -1 for byte in line) if len(line) > DEEPEST else ()
        if max(depths, default=0) > DEEPEST:
            return True
    return False


def _plain(lines: bytes) -> bool:
    """Whether pyarrow alone sees that no place of them is mixed, which takes a fraction of the time."""
    try:
        return all(_even(column.combine_chunks()) for column in _parse(lines, False, []).columns)
    except pa.ArrowException:
        return False


def load(files: Callable[[], Iterator[DataFile]], reader: Reader, title: str, *, first: bool = False) -> LoadResult:
    """The schema that the files are loaded with (None where that is not known), or why they are refused: `title` is the
    trainer's. `first`: what comes after the first table is not looked at."""
    loading = _TableLoader(reader)
    try:
        refused = loading.run(files(), first=first)
    except (OSError, ValueError, pa.ArrowException):  # no reader gets through, which the rows say
        refused = None
    if refused is None:
        return LoadResult(loading.schema)
    part, error = refused
    row, error = _located(loading, part, error)
    if part.noun == "line" and "Column() changed" in str(error):
        return LoadResult(loading.schema)  # a row that is no object, which says so itself
    if row is not None and part.noun == "line" and part.lines:
        found = None
        with suppress(ValueError, RecursionError):
            found = json.loads(part.lines[row - part.first])
        if not isinstance(found, dict):
            return LoadResult(loading.schema)  # which the row says
    named, before = loading.titles[part.file], loading.titles[loading.begun]
    where = named if row is None else f"{named} {part.noun} {row}"
    earlier = "the first 10 MB" if part.lines else f"the first {CSV_ROWS:,} rows"
    held, fix = _said(error, where, f"the first file, {before}," if part.file != loading.begun else earlier)
    does = "takes keys and types from what it reads first" if isinstance(error, Unfit) and error.want else "rejects it"
    why = f"its {reader.library} ({reader.version}) {does}"
    if part.file and _TableLoader(reader).run(_from(files, part.file)) is None:
        fix = FIRST
    return LoadResult(loading.schema, Problem(f"{title} stops before it reads a row: {held}", why, fix))


def _from(files: Callable[[], Iterator[DataFile]], first: int) -> Iterator[DataFile]:
    """The files, one of them before all others."""
    yield from islice(files(), first, first + 1)
    yield from (file for number, file in enumerate(files()) if number != first)


def _located(loading: _TableLoader, part: _FileTable, error: Exception) -> tuple[int | None, Exception]:
    """The number of the first row of a part by which it is refused, and why it is by then."""

    def refused(rows: int) -> Exception | None:
        try:
            loading.fits(loading.again(part, rows), lined=bool(part.lines))
        except (Unfit, pa.ArrowException, ValueError, TypeError, AttributeError) as found:
            return found
        return None

    if part.rows == 0:
        return None, error
    if isinstance(error, Unfit) and (error.have == "alone" or not error.want):
        return part.first, error
    least = bisect_left(range(1, part.rows), True, key=lambda rows: refused(rows) is not None) + 1
    return part.first + least - 1, refused(least) or error


_KINDS = {"string": "text", "object": "an object", "array": "a list", "boolean": "a boolean", "number": "a number"}


def _said(error: Exception, where: str, known: str) -> tuple[str, str]:
    """What is wrong, and what helps."""
    text = " ".join(str(error).split())
    if (found := re.search(r"Column\((.*)\) was specified twice", text)) is not None:
        path = visible(found[1].strip("/"))
        return f"the key `{path.rpartition('/')[2]}` is duplicated in an object in {where} (`{path}`)", "write it once"
    if (found := re.search(r"Column\((.*)\) changed from (\w+) to (\w+)", text)) is not None:
        path, before, kind = visible(found[1].strip("/")), *(_KINDS.get(found[n], found[n]) for n in (2, 3))
        return f"`{path}` is {kind} in {where}, but {before} in earlier rows", "use the same value type in every row"
    if (found := re.search(r"Conversion failed for column (\S+) with type", text)) is not None:
        return f"`{visible(found[1])}` in {where} has values of several types", "use the same value type in every row"
    if not isinstance(error, Unfit):
        return f"{where} cannot be read ({visible(text[:120])})", "fix or remove the row"
    path, name = visible(error.path.strip("/")), visible(error.path.rpartition("/")[2])
    if error.have == "alone":
        does = "lacks" if error.want == "lacks" else "has different values in"
        return f"{where}, a file of one row, {does} `{name}`", "write these rows into one file"
    if error.have in ("column", "key"):
        inside = f" in `{path.rpartition('/')[0]}`" if error.have == "key" else ""
        held = f"{where} has the {error.have} `{name}`{inside}, which no row in {known} has"
        return held, f"add `{name}` to a row in {known.rstrip(',')}, too"
    if not error.want:
        held = f"`{path}` in {where} is {error.have}, for which datasets has no type"
        return held, "write it as a list of objects"
    first = known.rstrip(",")
    same = "use the same value type in every row"
    help_ = f"add a row with a value there to {first}" if error.want == NOTHING else same
    return f"`{path}` is {error.have} in {where}, but {error.want} in {first}", help_
