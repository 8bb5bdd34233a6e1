"""The whole life of a job in little time: what the agent lets run, what it skips, and what it could not reach.

| file | what |
|---|---|
| `course.py` | where the job goes after each step |
| `settling.py` | whether its memory has stopped growing |
| `pace.py` | the stages of a run, by budgets in seconds |
| `control.py` | moves the job's own loops on |
| `loops.py`, `conditions.py` | what the source says of a loop, and when its conditions hold |
| `frame_reader.py` | variables and iterators of running frames |
| `frameworks.py` | schedules of training frameworks, brought forward |
| `phases.py` | counts evaluations, checkpoints and graph captures |
"""
