"""Studies: each decides which runs are needed to answer a question."""
