#!/usr/bin/env python3
"""Measures two builds or two settings of the rig's adapter in turns, A B B A and so on, so that drift of the machine affects both alike.

    bench/rig/turns.py enqueue-single --b HAPAX_PLAIN_PATHS=batch-gather
    bench/rig/turns.py workflow --program-a ../before/build/release/rig_adapter --rounds 10
    bench/rig/turns.py open-loop --store sqlite --b HAPAX_PLAIN_PATHS=batch-gather,batch-burst N=1000

Each run has an empty store. PostgreSQL is a private server with fsync, which this script starts and removes. The table has, for
each figure, both medians, the median of the rounds' ratios B : A, and a 95 % interval of that ratio (bootstrap over the rounds).
A figure that ends in _ms is better when it is smaller, every other figure when it is bigger.

Open-loop workloads get the same arrivals for A and B: one run of A finds the closed loop's rate, and RATE and SEED are set from then on.
"""
import argparse, json, os, pathlib, random, shutil, signal, statistics, subprocess, sys, tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
OPEN_LOOPS = ("open-loop", "open-loop-workflow")
RESAMPLES = 10_000


class Sqlite:
    name = "sqlite"

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="hapax-turns-")
        self.count = 0

    def fresh(self):
        shutil.rmtree(os.path.join(self.folder, str(self.count)), ignore_errors=True)
        self.count += 1
        scratch = os.path.join(self.folder, str(self.count))
        os.mkdir(scratch)
        return {"HAPAX_RIG_STORE": "sqlite", "SCRATCH_DIR": scratch}

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)


class Postgres:
    name = "postgres"
    control = str(ROOT / "scripts" / "test_postgres.sh")

    def __init__(self):
        self.folder = self.run("create", "--durable")
        self.url = self.run("url", self.folder)
        self.count = 0

    def run(self, *words):
        return subprocess.run([self.control, *words], check=True, capture_output=True, text=True).stdout.strip()

    def sql(self, statement):
        subprocess.run(["psql", "-qXv", "ON_ERROR_STOP=1", self.url, "-c", statement], check=True, stdout=subprocess.DEVNULL)

    def fresh(self):
        if self.count:
            self.sql(f"drop database turn{self.count} with (force)")
        self.count += 1
        self.sql(f"create database turn{self.count}")
        self.sql("checkpoint")
        return {"HAPAX_RIG_STORE": "postgres", "DATABASE_URL": self.url.rsplit("/", 1)[0] + f"/turn{self.count}"}

    def close(self):
        self.run("remove", self.folder)


class Side:
    def __init__(self, label, program, settings):
        self.label, self.program = label, program
        self.settings = dict(setting.split("=", 1) for setting in settings)
        self.rounds = []

    def measure(self, workload, store, common):
        env = {**os.environ, **common, **store.fresh(), **self.settings, "WORKLOAD": workload}
        done = subprocess.run([self.program], env=env, capture_output=True, text=True)
        lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
        if done.returncode or not lines:
            sys.exit(f"{self.label} failed: {done.stderr.strip()[-1500:] or 'no line of JSON'}")
        return json.loads(lines[-1])


def figures(result):
    """The figures that are compared: rates and latencies."""
    found = {name: value for name, value in result.items() if name.endswith(("_ms", "_per_s", "_us")) and value is not None}
    if "n" in result and "seconds" in result:
        found = {"per_s": result["n"] / result["seconds"], **found}
    return found


def interval(ratios, seed=1):
    """A 95 % interval of the median, by drawing the rounds again and again."""
    draw = random.Random(seed)
    medians = sorted(statistics.median(draw.choices(ratios, k=len(ratios))) for _ in range(RESAMPLES))
    return medians[int(0.025 * RESAMPLES)], medians[int(0.975 * RESAMPLES)]


def verdict(name, low, high):
    if low <= 1 <= high:
        return "no difference seen"
    better = (high < 1) if name.endswith(("_ms", "_us")) else (low > 1)
    return "B is better" if better else "A is better"


def table(store, a, b):
    print(f"\n{store.name}: {len(a.rounds)} rounds")
    print(f"  {'figure':<22} {'A':>12} {'B':>12} {'B : A':>8}   {'95 % interval':<18}")
    report = {}
    for name in a.rounds[0]:
        pairs = [(x[name], y[name]) for x, y in zip(a.rounds, b.rounds) if x.get(name) and y.get(name)]
        if not pairs:
            continue
        of_a, of_b = (statistics.median(values) for values in zip(*pairs))
        ratios = [y / x for x, y in pairs]
        ratio = statistics.median(ratios)
        low, high = interval(ratios)
        print(f"  {name:<22} {of_a:>12,.3f} {of_b:>12,.3f} {ratio:>8.3f}   {f'{low:.3f} to {high:.3f}':<18} {verdict(name, low, high)}")
        report[name] = {"a": of_a, "b": of_b, "ratio": ratio, "low": low, "high": high, "ratios": ratios}
    return report


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workload")
    parser.add_argument("settings", nargs="*", metavar="NAME=VALUE", help="environment of both sides, such as N=5000")
    for side in "ab":
        parser.add_argument(f"--{side}", action="append", default=[], metavar="NAME=VALUE", help=f"environment of side {side.upper()}; may be repeated")
        parser.add_argument(f"--program-{side}", default=str(ROOT / "build/release/rig_adapter"), metavar="PATH")
    parser.add_argument("--rounds", type=int, default=8, help="runs of each side (8)")
    parser.add_argument("--store", choices=["sqlite", "postgres", "both"], default="both")
    parser.add_argument("--json", metavar="PATH", help="also writes the report there")
    options = parser.parse_intermixed_args(arguments)
    for setting in [*options.settings, *options.a, *options.b]:
        if "=" not in setting:
            parser.error(f"{setting} is no NAME=VALUE")
    for program in {options.program_a, options.program_b}:
        if not os.access(program, os.X_OK):
            parser.error(f"{program} is not there: ./dev build release rig_adapter")
    if not options.a and not options.b and options.program_a == options.program_b:
        print("A and B are the same: the table shows the measurement's own noise", file=sys.stderr)
    return options


def compare(store, options, common):
    a = Side("A", options.program_a, options.a)
    b = Side("B", options.program_b, options.b)
    common = dict(common)
    if options.workload in OPEN_LOOPS and "RATE" not in common:
        common["RATE"] = str(a.measure(options.workload, store, {**common, "PART_SECONDS": "1"})["closed_per_s"])
        print(f"{store.name}: the closed loop does {float(common['RATE']):,.0f} a second", file=sys.stderr)
    for number in range(options.rounds):
        if options.workload in OPEN_LOOPS:
            common["SEED"] = str(number + 1)
        for side in (a, b) if number % 2 == 0 else (b, a):
            result = figures(side.measure(options.workload, store, common))
            side.rounds.append(result)
            print(f"{store.name} {number + 1} {side.label}: " + json.dumps(result), file=sys.stderr, flush=True)
    return table(store, a, b)


def main():
    options = parse(sys.argv[1:])
    common = dict(setting.split("=", 1) for setting in options.settings)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the server is removed
    report = {"workload": options.workload, "common": common, "a": options.a, "b": options.b, "stores": {}}
    for kind in (Sqlite, Postgres):
        if options.store not in (kind.name, "both"):
            continue
        store = kind()
        try:
            report["stores"][kind.name] = compare(store, options, common)
        finally:
            store.close()
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
