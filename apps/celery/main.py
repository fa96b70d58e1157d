"""Tasks, groups, chords, chains, retries and countdowns of Celery."""

from celery import chain, chord, group

from tasks import add, fails_once, total

WAIT = {"timeout": 60}


def main():
    results = [add.delay(n, n) for n in range(30)]
    assert [result.get(**WAIT) for result in results] == [2 * n for n in range(30)]
    assert group(add.s(n, 1) for n in range(10))().get(**WAIT) == list(range(1, 11))
    assert chord((add.s(n, n) for n in range(10)), total.s())().get(**WAIT) == 90
    assert chain(add.s(1, 2), add.s(3))().get(**WAIT) == 6
    assert fails_once.delay().get(**WAIT) == "done"
    assert add.apply_async((1, 1), countdown=1).get(**WAIT) == 2


main()
