"""SARIF and JUnit output against their schemas, fetched into temporary folders: nothing of others is kept here.

SARIF: the types of @types/sarif, which mirror the schema of OASIS (required and unknown properties, enumerations),
checked by TypeScript. JUnit: the XSD of Jenkins that pytest's source release carries, checked by `xmlschema`.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from sftui.cli import main

pytestmark = pytest.mark.terminal
TYPES = ("typescript@5.9.3", "@types/sarif@2.1.7")
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


def type_check(folder: Path, log: str) -> str:
    (folder / "check.ts").write_text(f"import {{Log}} from 'sarif';\nconst log: Log = {log};\nexport default log;\n")
    done = subprocess.run([str(folder / "node_modules/.bin/tsc"), "--noEmit", "--strict", "check.ts"], cwd=folder, capture_output=True, text=True)
    return done.stdout if done.returncode else ""


def test_sarif_validates(tmp_path: Path) -> None:
    if shutil.which("npm") is None:
        pytest.skip("npm is not here, and with it the types of SARIF")
    done = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--prefix", str(tmp_path), *TYPES], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"the types of SARIF cannot be installed: {done.stderr.strip()[-200:]}")
    log = checked("sarif", tmp_path)
    assert type_check(tmp_path, log) == ""
    assert "is not assignable" in type_check(tmp_path, log.replace('"level": "error"', '"level": "bad"'))
    assert "does not exist" in type_check(tmp_path, log.replace('"ruleIndex"', '"ruleNumber"'))


def test_junit_validates(tmp_path: Path) -> None:
    xmlschema = pytest.importorskip("xmlschema")
    done = subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", "pytest", "-d", str(tmp_path), PYTEST],
                          capture_output=True, text=True)
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
