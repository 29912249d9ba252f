# SPDX-License-Identifier: BSD-3-Clause
"""Which test begins next, and which ones may run beside each other."""


# The quick check comes first. In it and in the rest long tests do, so that the last ones are short;
# those of equal length stand as in the table. A test is as urgent as all that comes after it.
def in_order(tests, seconds):
    by_name = {test.name: test for test in tests}
    urgency = {}  # name -> whether it can wait for the quick check, seconds until all behind it ends

    def add(test, rest, behind):
        before = urgency.get(test.name, (True, 0))
        urgency[test.name] = (before[0] and rest, max(before[1], seconds(test) + behind))
        if urgency[test.name] != before:
            for need in test.after:
                add(by_name[need], *urgency[test.name])

    for test in tests:
        add(test, test.rest, 0)
    return sorted(tests, key=lambda test: (urgency[test.name][0], -urgency[test.name][1], test.place))


class Schedule:
    def __init__(self, tests, seconds):
        self.waiting = in_order(tests, seconds)
        self.results = {}  # name -> pass, fail or skip
        self.running = set()

    def taken(self):
        return {thing for test in self.running for thing in test.takes}

    def is_ready(self, test, taken):
        return taken.isdisjoint(test.takes) and all(need in self.results for need in test.after)

    # The test that may begin now, which counts as running from here on; None if it has to wait for
    # others to end. Those that run alone are the last.
    def pick(self):
        if any(test.alone for test in self.running):
            return None
        taken = self.taken()
        ready = (test for test in self.waiting if not test.alone and self.is_ready(test, taken))
        found = next(ready, None)
        if not found and not self.running:
            found = next((test for test in self.waiting if self.is_ready(test, taken)), None)
        if found:
            self.waiting.remove(found)
            self.running.add(found)
        return found

    def end(self, test, result):
        self.running.discard(test)
        self.results[test.name] = result

    # The test that this one needs and that did not pass; None if all did.
    def missing(self, test):
        return next((need for need in test.after if self.results[need] != "pass"), None)
