"""The vocabulary: jobs, runs, value policies, estimates. Imported inside the user's process too: it loads nothing."""
