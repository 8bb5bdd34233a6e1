"""Values that are not computed: what they are assumed to be (`policy`), where they are written (`values`), and which
lines of the program read them (`reads`)."""
