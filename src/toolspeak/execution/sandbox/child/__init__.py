"""What runs inside the child process of `full` mode: it confines itself, and only then runs the code.

`launch.py` is the entry point, `confine.py` the confinement. Rules of this folder:

- It needs only the standard library and imports nothing of toolspeak: the child is started without site-packages and is
  given no other path than that of this folder.
- Either every part of the confinement is set up or nothing runs: a step that fails ends the child, and the parent
  receives the reason.
- Nothing here relies on what comes after: the code shares this process, so every promise of the confinement is kept by
  the kernel, never by Python.
"""
