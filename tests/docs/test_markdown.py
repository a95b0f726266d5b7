"""Fenced blocks are found wherever they stand, whole, and one that is left open is an error."""

from __future__ import annotations

import pytest

from tests.docs.markdown import blocks_of

PAGE = """\
Text, and `code` in it.

```bash title="First terminal"
./dev run
```

- In a list:

    ```yaml title="a/b.yaml (part)" hl_lines="1"
    key:
      - x
    ```

````text
```
````
"""


def test_kind_title_text_and_line_are_read() -> None:
    bash, yaml, text = blocks_of(PAGE)
    assert (bash.kind, bash.title, bash.text, bash.line) == (
        "bash",
        "First terminal",
        "./dev run\n",
        3,
    )
    assert (yaml.title, yaml.text) == ("a/b.yaml (part)", "key:\n  - x\n")
    assert (text.kind, text.text) == ("text", "```\n")


def test_a_block_without_a_language_is_seen() -> None:
    (block,) = blocks_of("```\nx\n```\n")
    assert (block.kind, block.title) == ("", "")


def test_a_block_that_is_never_closed_is_an_error() -> None:
    with pytest.raises(ValueError, match="line 3"):
        blocks_of("\n\n```bash\nls\n")
