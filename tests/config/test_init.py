"""The package's door: a curated list, and no YAML for those who only need paths."""

from __future__ import annotations

import subprocess
import sys

import pytest

import config


def test_every_exported_name_is_there() -> None:
    assert list(config.__all__) == sorted(config.__all__)
    assert all(getattr(config, name) is not None for name in config.__all__)
    with pytest.raises(AttributeError):
        config.nothing


def test_paths_alone_cost_no_yaml_and_no_schema() -> None:
    code = (
        "import sys, config; config.default_workspace().find_socket(); "
        "sys.exit(any(m.startswith(('ruamel', 'config.schema')) for m in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0
