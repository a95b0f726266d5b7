"""The house rules: imports go down the floors, heavy parts load lazily, exports are pinned."""

from __future__ import annotations

import ast
import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FLOORS = {"config": 1, "channels": 1, "cronactor": 2, "tools": 3, "actors": 4, "supervisor": 5}
LAZY = {"openai", "anthropic", "mcp", "nio", "trio_asyncio", "asyncssh", "textual", "httpx2"}
SOURCES = sorted(path for floor in FLOORS for path in (ROOT / floor).rglob("*.py"))


def imported_roots(path: Path, *, top_level_only: bool = False) -> set[str]:
    """First names of all modules a file imports; type-checking-only imports count as well."""
    tree = ast.parse(path.read_text())
    nodes = tree.body if top_level_only else list(ast.walk(tree))
    roots: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            roots.update(alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            roots.add((node.module or "").split(".")[0])
    return roots


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_imports_only_its_own_package_and_floors_below(path: Path) -> None:
    own = path.relative_to(ROOT).parts[0]
    for root in imported_roots(path) & FLOORS.keys():
        assert root == own or FLOORS[root] < FLOORS[own], f"{path} imports {root}"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_heavy_libraries_are_imported_lazily(path: Path) -> None:
    assert not imported_roots(path, top_level_only=True) & LAZY


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_each_module_states_its_idea_first(path: Path) -> None:
    docstring = ast.get_docstring(ast.parse(path.read_text()))
    assert docstring and len(docstring.splitlines()[0]) > 10


PURE = [
    "channels/chain.py",
    "cronactor/schedule.py",
    "cronactor/phrases.py",
    "cronactor/reminder.py",
    "actors/decision.py",
    "actors/turns.py",
    "supervisor/policy.py",
]


@pytest.mark.parametrize("name", PURE)
def test_pure_modules_import_no_clock_no_trio_no_io(name: str) -> None:
    banned = {"trio", "time", "os", "sqlite3", "sqlite_utils", "socket", "subprocess", "pathlib"}
    assert not imported_roots(ROOT / name) & banned


@pytest.mark.parametrize("package", sorted(FLOORS))
def test_a_package_exports_what_all_says(package: str) -> None:
    module = importlib.import_module(package)
    assert list(module.__all__) == sorted(module.__all__)
    for name in module.__all__:
        assert getattr(module, name) is not None


@pytest.mark.parametrize("package", [*sorted(FLOORS), "supervisor.testkit"])
def test_exports_change_only_on_purpose(package: str) -> None:
    """What people import is pinned in `exports.json`; change both together."""
    pinned = json.loads((ROOT / "tests" / "exports.json").read_text())
    assert list(importlib.import_module(package).__all__) == pinned[package]


def test_importing_the_supervisor_package_loads_nothing_heavy() -> None:
    code = "import sys, supervisor; print(sorted({m.split('.')[0] for m in sys.modules}))"
    found = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    loaded = set(ast.literal_eval(found.stdout))
    assert not loaded & (LAZY | {"trio", "starlette", "hypercorn", "pydantic", "sqlite_utils"})
