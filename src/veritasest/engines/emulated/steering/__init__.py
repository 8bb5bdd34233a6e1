"""Values that control the program's flow: computed where they can be, assumed where they cannot, and reported.

README.md follows one value from Python to C and back, and has a map of the files. `install.start` is the way in.
"""
