"""How far estimates are from a real GPU: recorded jobs, their estimates, the scores, and other tools on the same jobs.

Every module runs from the repository root, for example `python -m benchmarks.score.publish`; README.md lists them.
"""
