"""What runs inside the child process of `full` mode: it walls itself in, and only then reads the code it is to run.

Rules of this folder. It needs the standard library alone and knows nothing of toolspeak: the child is started without
site-packages and is shown no other way than the path of this folder. Every wall goes up or nothing runs: a step that
fails ends the child, and the parent is told why. Nothing here trusts what comes after: the code shares this process, so
a wall is a promise of the kernel, never of Python.
"""
