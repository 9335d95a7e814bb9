"""Which files other versions of datasets and pandas read otherwise, and which sftui: `python readings.py [NAME…]`.

Every file of `files_to_read` and every set of `sets_to_read` through `read_files.py` in each environment, and through
sftui's own sources. Two readings agree where both refuse the file or set, or both have the same rows once keys that
Arrow fills with null are taken away; of a set only whether it is loaded is compared. `--sets`: the sets alone.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import environments
import files_to_read
import sets_to_read
from case import home, python_of

from sftui.errors import SftuiError
from sftui.session.opened import SAMPLE_ROWS
from sftui.sources import SourceSpec, open_source
from sftui.trainers.loading import load
from sftui.trainers.reading import brought, late_kind, notes_on, places_of, reading_of, with_times

TRAINERS = (
    *("trl@1.16.0", "axolotl@0.19.0", "llamafactory@0.9.5", "unsloth@2026.10.9", "torchtune@0.6.1", "ms-swift@4.6.0"),
    "nemo-automodel@0.7.0",
)
Reading = dict[str, Any]
"""`rows`, or `error`."""


def files() -> list[Path]:
    """The files, written once."""
    return files_to_read.write(_folder(files_to_read.__file__))


def sets(*, every: bool = True) -> list[Path]:
    """The sets, written once; not `every`: without the long ones, which take minutes."""
    return sets_to_read.write(_folder(sets_to_read.__file__), every=every)


def _folder(script: str) -> Path:
    return home() / "readings" / hashlib.sha256(Path(script).read_bytes()).hexdigest()[:12]


def theirs(name: str, paths: Sequence[Path]) -> tuple[dict[str, str], list[Reading]]:
    """The versions of an environment, and what it reads; a file at which its process ends is an error."""
    trainer, version = environments.split(name)
    out = paths[0].parent / f"{trainer}-{version}-{len(paths)}.read"
    if not out.exists():
        done: list[str] = []
        versions = ""
        while len(done) < len(paths):
            listed, part = out.with_suffix(".list"), out.with_suffix(".part")
            listed.write_text("\n".join(map(str, paths[len(done) :])), encoding="utf-8")
            script = Path(__file__).with_name("read_files.py")
            ended = subprocess.run([python_of(trainer, version), script, listed, part], stderr=subprocess.DEVNULL)
            versions, *more = part.read_text(encoding="utf-8").splitlines()
            done += more
            if len(done) < len(paths):
                done.append(json.dumps({"error": f"the process ended: {ended.returncode}"}))
        out.write_text("\n".join((versions, *done)), encoding="utf-8")
    versions, *found = out.read_text(encoding="utf-8").splitlines()
    return json.loads(versions), [json.loads(line) for line in found]


def ours(path: Path, preset: str = "trl@1.16") -> Reading:
    """What sftui gives a trainer of the file; `problems` are rows that cannot be read, `notes` what it tells of it."""
    from read_files import plain

    reader = brought(preset)
    assert reader is not None
    try:
        source = open_source(SourceSpec((str(path),)))
    except SftuiError as error:
        return {"error": str(error)}
    with closing(source):
        loaded = load(source.files, reader, preset)
        if loaded.problem is not None:
            return {"error": loaded.problem.what}
        if path.is_dir():
            return {"rows": []}
        rows = every = list(source.rows())
        notes = [*source.notes, *(one.sentence() for one in source.damage)]
    problems = [row.problem for row in rows if row.data is None]
    rows = rows[:SAMPLE_ROWS]
    typed = reading_of(rows, preset)
    reading = typed if loaded.schema is None or path.suffix == ".csv" else with_times(typed, loaded.schema)
    values = [row.data for row in every if row.data is not None]
    given = values if reading is None else [reading.row(value) for value in values]
    notes += notes_on(rows, typed, preset, preset) if typed is not None else ()
    places = places_of(rows, preset, dict.fromkeys(name for row in rows for name in row.data or ()))
    late = [late_kind(row, places, preset, preset) for row in every if row.data is not None] if places else []
    notes += [one.problem.what for one in late if one is not None]
    return {"rows": [plain(value) for value in given], "problems": problems, "notes": notes}


def bare(value: Any) -> Any:
    """A value without keys that are null, at any depth."""
    if isinstance(value, dict):
        return {key: bare(inner) for key, inner in value.items() if inner is not None}
    return [bare(inner) for inner in value] if isinstance(value, list) else value


def same(a: Any, b: Any) -> bool:
    """Equal, and of one type: 1 is not 1.0, nor true."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and a == b


def difference(one: Reading, other: Reading) -> str | None:
    """How two readings differ, in a word."""
    if ("error" in one) != ("error" in other):
        return f"refused by {'the first' if 'error' in one else 'the second'}"
    if "error" in one or same(bare(one["rows"]), bare(other["rows"])):
        return None
    return "rows" if len(one["rows"]) != len(other["rows"]) else "values"


def family(path: Path) -> str:
    return path.name.partition("-")[0] if path.is_dir() else path.name.rpartition("-")[0]


def compared(paths: Sequence[Path], one: Sequence[Reading], other: Sequence[Reading]) -> Iterator[tuple[Path, str]]:
    for path, a, b in zip(paths, one, other):
        found = difference(a, b)
        if found is not None:
            yield path, found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=TRAINERS)
    parser.add_argument("--show", type=int, default=0, help="files shown of each pair")
    parser.add_argument("--sets", action="store_true", help="the sets alone, each file of them through the loader")
    options = parser.parse_args(arguments)
    paths = sets() if options.sets else files()
    read: dict[str, list[Reading]] = {}
    mine: dict[str, list[Reading]] = {}
    for name in options.names:
        versions, read[name] = theirs(name, paths)
        trainer, version = environments.split(name)
        mine[name] = [ours(path, f"{trainer}@{'.'.join(version.split('.')[:2])}") for path in paths]
        print(f"{name}: {', '.join(f'{key} {value}' for key, value in versions.items())}")
    first = next(iter(read))
    for name in read:
        for title, against in (((f"{first} and {name}", read[first]),) if name != first else ()) + (
            (f"{name} and sftui", mine[name]),
        ):
            left, right = (against, read[name]) if against is read[first] else (read[name], against)
            found = list(compared(paths, left, right))
            counts = Counter((family(path), how) for path, how in found)
            spoken = sum(
                bool(right[paths.index(path)].get(name)) for path, _ in found for name in ("problems", "notes")
            )
            loaded = sum("error" not in one for one in right if right is read[name])
            print(
                f"{title}: {len(paths) - len(found)} of {len(paths)} files read alike, {spoken} of the others told;"
                f" {loaded} are loaded"
            )
            for (kind, how), count in sorted(counts.items()):
                print(f"    {kind:12} {how:22} {count}")
            for path, how in found[: options.show]:
                at = paths.index(path)
                print(f"  {path.name} {how}\n    {json.dumps(left[at])[:300]}\n    {json.dumps(right[at])[:300]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
