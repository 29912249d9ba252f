# SPDX-License-Identifier: BSD-3-Clause
"""How long tests took in earlier runs with the same build, so that the long ones can begin first."""
import os

SHORT = 5  # seconds, below which the order does not matter


def path_in(build):
    return os.path.join(build, "test-times")


def read(build):
    try:
        with open(path_in(build), encoding="utf-8") as file:
            rows = [line.split() for line in file]
    except OSError:
        return {}
    return {row[0]: float(row[1]) for row in rows if len(row) == 2}


# A disk that is full must not fail a run.
def write(build, times):
    merged = {**read(build), **times}
    try:
        with open(path_in(build) + ".new", "w", encoding="utf-8") as file:
            file.writelines(f"{name} {seconds:.1f}\n" for name, seconds in merged.items())
        os.replace(path_in(build) + ".new", path_in(build))
    except OSError:
        pass


# A function that estimates the time of a test; a test that never ran may take as long as it is allowed to.
def estimator(build):
    known = read(build)

    def seconds(test):
        guess = known.get(test.name, test.limit)
        return guess if guess >= SHORT else 0

    return seconds
