"""What the jobs do."""


def double(n):
    return n * 2


def fail():
    raise ValueError("on purpose")
