"""SARIF and JUnit output against their schemas, fetched into temporary folders: nothing of others is kept here.

SARIF: the JSON schema of 2.1.0 in its last revision (rtm.5, as schemastore.org publishes it), which Microsoft's
@microsoft/jest-sarif carries, checked by `jsonschema`. JUnit: the XSD of Jenkins that pytest's source release
carries, checked by `xmlschema`.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

from sftui.cli import main

pytestmark = pytest.mark.terminal
SARIF = "@microsoft/jest-sarif@1.0.0-beta.0"
PYTEST = "pytest==8.4.2"


def checked(form: str, folder: Path) -> str:
    """The output for rows with findings of every scope, some hostile."""
    data, out = folder / "rows & <more>.jsonl", folder / f"out.{form}"
    hostile = "</failure>]]> \x1b[31m \ufffe \ud800 ::error::x\n\"'"
    rows = [
        {"messages": [{"role": "user", "content": hostile}, {"role": "assistant", "content": " yes "}]},
        {"messages": [{"role": hostile, "content": "x"}, {"role": "assistant", "content": None}]},
        {"messages": [{"role": "user", "content": "<|im_end|>"}, {"role": "assistant", "content": "ok"}]},
        {"messages": [{"role": "user", "content": "<|im_end|>"}, {"role": "assistant", "content": "ok"}]},
    ]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows) + "{\n")
    with pytest.raises(SystemExit) as ended:
        main(["check", str(data), "-t", "builtin:chatml", "--format", form, "-o", str(out)])
    assert ended.value.code == 1
    return out.read_text(encoding="utf-8")


def sarif_schema(folder: Path) -> dict[str, Any]:
    """The schema out of the npm package, which is fetched but not installed; skips where it cannot be."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not here, and with it the schema of SARIF")
    done = subprocess.run(
        ["npm", "pack", "--silent", "--pack-destination", str(folder), SARIF],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        pytest.skip(f"the schema of SARIF cannot be fetched: {done.stderr.strip()[-200:]}")
    with tarfile.open(next(folder.glob("microsoft-jest-sarif-*.tgz"))) as archive:
        opened = archive.extractfile("package/lib/schemas/sarif-2.1.0-rtm.5.json")
        assert opened is not None
        schema: dict[str, Any] = json.load(opened)
    assert schema["$schema"].endswith("draft-04/schema#") and schema["required"] == ["version", "runs"]
    return schema


def test_sarif_validates(tmp_path: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft4Validator(
        sarif_schema(tmp_path), format_checker=jsonschema.Draft4Validator.FORMAT_CHECKER
    )
    log = checked("sarif", tmp_path)
    assert [f"{error.json_path}: {error.message}" for error in validator.iter_errors(json.loads(log))] == []
    for before, after in (
        ('"level": "error"', '"level": "bad"'),
        ('"ruleIndex"', '"ruleNumber"'),
        ('"version": "2.1.0"', '"version": "2"'),
        ('"text": ', '"words": '),
    ):
        assert before in log and not validator.is_valid(json.loads(log.replace(before, after)))


def test_junit_validates(tmp_path: Path) -> None:
    xmlschema = pytest.importorskip("xmlschema")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "download",
            "-q",
            "--no-deps",
            "--no-binary",
            "pytest",
            "-d",
            str(tmp_path),
            PYTEST,
        ],
        capture_output=True,
        text=True,
    )
    if done.returncode:
        pytest.skip(f"pytest's source cannot be downloaded: {done.stderr.strip()[-200:]}")
    with tarfile.open(next(tmp_path.glob("pytest-*.tar.gz"))) as archive:
        member = next(one for one in archive.getmembers() if one.name.endswith("testing/example_scripts/junit-10.xsd"))
        opened = archive.extractfile(member)
        assert opened is not None
        schema = xmlschema.XMLSchema(opened.read().decode())
    text = checked("junit", tmp_path)
    schema.validate(text)
    assert not schema.is_valid(text.replace("<failure ", "<failed ").replace("</failure>", "</failed>"))
