"""How fast, beside others, in one run on one machine: `python -m benchmarks [--quick] [NAMES]`.

Each module named in `benchmarks.__main__.MODULES` has one function `rows(quick: bool) -> list[Row]`
that measures and returns the rows of the table. `quick` means: fewer and smaller passes, enough to
see that it runs. Contenders of one row are measured in turns (`base.interleaved`), so that a slow
moment of the machine meets all of them.
"""
