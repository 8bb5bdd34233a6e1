"""One module per verb, found by its name. Its docstring is its help, the first line of it the summary; `EXAMPLE` shows
how it is typed, `main(argv)` returns the exit code."""
