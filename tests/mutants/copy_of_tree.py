# SPDX-License-Identifier: BSD-3-Clause
"""A copy of the source tree with a build of its own, in which changes are tried."""
import collections
import contextlib
import glob
import hashlib
import os
import re
import select
import shutil
import subprocess

# A mutant may send signals and datagrams to strangers, so it sees no process, network or shared
# memory but its own, and all that it started ends with it.
APART = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "--ipc", "--net", "sh", "-c",
         'ip link set lo up && mount -t tmpfs none /dev/shm && "$@"', "apart"]  # fmt: skip
FOLDERS = ("conduits", "core", "extended", "firehose", "messages", "other", "spawner")
ENDED = re.compile(rb"(ok|FAIL|skip) ([A-Za-z0-9._+-]+)[ :]")
BUILD_SECONDS = 600  # a build may run a mutant, too
FILE_WORDS = 8  # of a line of readelf about a symbol


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha1(file.read()).digest()


# Yields lines of the process. Kills it if it prints nothing for so many seconds; then the last one
# is None.
def lines_of(process, seconds):
    rest = b""
    while select.select([process.stdout], [], [], seconds)[0]:
        data = os.read(process.stdout.fileno(), 1 << 16)
        if not data:
            return
        *lines, rest = (rest + data).split(b"\n")
        yield from lines
    process.kill()
    yield None


# Yields (path, the name of a C file of which this program or library was linked).
def files_of(paths):
    listing = subprocess.run(["readelf", "-sW", *paths], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    path = None
    for words in (line.split() for line in listing.stdout.splitlines()):
        if words[:1] == ["File:"]:
            path = words[1]
        elif len(words) == FILE_WORDS and words[3] == "FILE":
            yield path, words[-1]


def is_linked(path):
    if not os.path.isfile(path) or os.path.islink(path) or not os.access(path, os.X_OK):
        return False
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


# The test of this one program, or None.
def test_of(target):
    found = re.fullmatch(r"(?:tests/(?:\w+/)+test|(fuzz))_(\w+)", target)
    return f"{found[1] or 'unit'}-{found[2]}" if found else None


class Copy:
    def __init__(self, source, folder, configure, jobs):
        self.source = source
        self.tree = os.path.join(folder, "tree")
        self.build = os.path.join(self.tree, "build")
        self.temporary = os.path.join(folder, "tmp")
        self.above = os.path.join(folder, "above")
        self.configure = configure
        self.jobs = jobs
        self.objects = {}  # path -> digest, as built from the source without a change
        self.targets = {}  # the name of a C file -> what make has to build after it changed

    # Brings the copy up to date, which also takes back the change of a run that was interrupted.
    def refresh(self):
        listing = subprocess.run(["git", "-C", self.source, "ls-files", "-z", "-co", "--exclude-standard"],
                                 stdout=subprocess.PIPE, text=True, check=True)  # fmt: skip
        for name in filter(None, listing.stdout.split("\0")):
            source, copy = os.path.join(self.source, name), os.path.join(self.tree, name)
            if not os.path.exists(source) or (os.path.exists(copy) and digest(source) == digest(copy)):
                continue
            os.makedirs(os.path.dirname(copy), exist_ok=True)
            shutil.copyfile(source, copy)
            shutil.copymode(source, copy)

    # make in the tree, or, for single files, in its build folder. Returns whether it succeeds.
    def make(self, *targets, folder=None, log="build.log"):
        command = ["make", f"-j{self.jobs}", "-C", folder or self.build, *targets]
        with open(os.path.join(self.tree, "..", log), "w", encoding="utf-8") as output:
            try:
                done = subprocess.run(APART + command, stdin=subprocess.DEVNULL, stdout=output,
                                      stderr=subprocess.STDOUT, timeout=BUILD_SECONDS)  # fmt: skip
                return done.returncode == 0
            except subprocess.TimeoutExpired:
                return False

    def build_unchanged(self):
        if os.path.exists(os.path.join(self.build, "config.status")):
            built = self.make("check-programs")
        else:
            built = self.make("check-programs", f"CONFIGURE_ARGS={self.configure}", folder=self.tree)
        self.objects = {path: digest(path) for path in glob.glob(f"{self.build}/**/*.o", recursive=True)}
        self.targets = self.targets_of_files()
        return built

    # A program that has the file in libaqueduct needs no new link.
    def targets_of_files(self):
        targets = collections.defaultdict(set)
        everything = glob.glob(f"{self.build}/**/*", recursive=True, include_hidden=True)
        for path, name in files_of(filter(is_linked, everything)):
            target = os.path.relpath(path, self.build)
            targets[name].add("libaqueduct.la" if target.startswith(".libs/libaqueduct.so") else target)
        return targets

    # What has to be linked again after a change of the file.
    def targets_of(self, name):
        return sorted(self.targets[os.path.basename(name)])

    # What is written below the tree while this lasts is gone afterwards.
    @contextlib.contextmanager
    def scratch(self):
        shutil.rmtree(self.above, ignore_errors=True)
        upper, work = (os.path.join(self.above, name) for name in ("upper", "work"))
        os.makedirs(upper)
        os.makedirs(work)
        layers = f"lowerdir={self.tree},upperdir={upper},workdir={work}"
        subprocess.run(["mount", "-t", "overlay", "overlay", "-o", layers, self.tree], check=True)
        try:
            yield
        finally:
            subprocess.run(["umount", "--lazy", self.tree], check=True)

    # The objects of a source; none if this machine does not compile it.
    def objects_of(self, name):
        folder, file = os.path.split(name)
        ending = re.compile(rf"(?:.*-)?{re.escape(file[:-2])}\.o")
        inside = os.path.join(self.build, folder)
        return [path for path in self.objects if os.path.dirname(path) == inside and ending.fullmatch(os.path.basename(path))]

    # The names of the C files that this machine compiles.
    def sources(self):
        names = [name for folder in FOLDERS for name in glob.glob(f"{folder}/**/*.c", root_dir=self.tree, recursive=True)]
        return [name for name in sorted(names) if self.objects_of(name)]

    def read(self, name):
        with open(os.path.join(self.tree, name), encoding="utf-8") as file:
            return file.read()

    def write(self, name, text):
        with open(os.path.join(self.tree, name), "w", encoding="utf-8") as file:
            file.write(text)

    # Compiles the source alone, and says why what it has become is no mutant; None if it is one.
    def why_none(self, name):
        objects = self.objects_of(name)
        if not self.make(*(os.path.relpath(path, self.build) for path in objects), log="compile.log"):
            return "does not compile"
        if all(digest(path) == self.objects[path] for path in objects):
            return "is the same code"
        return None

    # Yields (result, test) for each test that these patterns name, and ("hang", None) if none ends for
    # so many seconds. The tests end with the generator.
    def run_tests(self, patterns, seconds):
        shutil.rmtree(self.temporary, ignore_errors=True)
        os.makedirs(self.temporary)
        environment = {**os.environ, "AQ_BUILD": self.build, "TMPDIR": self.temporary}
        command = APART + [os.path.join(self.tree, "tests", "run"), "--as-built", *patterns]
        run = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL)  # fmt: skip
        try:
            for line in lines_of(run, seconds):
                found = line is not None and ENDED.match(line)
                if found:
                    yield found[1].decode(), found[2].decode()
                elif line is None:
                    yield "hang", None
        finally:
            run.kill()
            run.wait()
            run.stdout.close()
