#!/usr/bin/env python3
"""Compares the mutants that survived a run of cargo-mutants with those that may survive.

usage: mutants.py MUTANTS.OUT ACCEPTED.TOML

Exit status: 0 if every survivor is accepted with a reason and no such reason is stale, 1 if not, 2 on bad input.
"""

import collections
import json
import pathlib
import sys
import tomllib


def key(mutant):
    """A mutant's name without line and column, which move with every edit."""
    return mutant["file"], mutant["name"].split(": ", 1)[1]


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    folder, accepted_file = map(pathlib.Path, sys.argv[1:])
    accepted = {}
    for entry in tomllib.loads(accepted_file.read_text())["survivor"]:
        accepted[entry["file"], entry["mutant"]] = entry
        if not entry["reason"].strip():
            print(f"{accepted_file}: `{entry['mutant']}` has no reason", file=sys.stderr)
            return 2

    counts = collections.Counter()
    missed = collections.Counter()
    ran = set()
    places = collections.defaultdict(list)
    for outcome in json.loads((folder / "outcomes.json").read_text())["outcomes"]:
        if outcome["scenario"] == "Baseline":
            continue
        mutant = outcome["scenario"]["Mutant"]
        summary = outcome["summary"]
        counts[summary] += 1
        ran.add(key(mutant))
        if summary == "MissedMutant":
            missed[key(mutant)] += 1
            places[key(mutant)].append(mutant["name"])
        elif summary not in ("CaughtMutant", "Unviable", "Timeout"):
            print(f"no verdict on {mutant['name']}: {summary}", file=sys.stderr)
            return 2

    bad = 0
    for mutant, number in sorted(missed.items()):
        allowed = accepted.get(mutant, {}).get("count", 1) if mutant in accepted else 0
        if number > allowed:
            bad += 1
            for place in places[mutant]:
                print(f"survived: {place}")
    for mutant in sorted(accepted):
        if mutant in ran and missed[mutant] < accepted[mutant].get("count", 1):
            bad += 1
            print(f"stale reason, it was caught: {mutant[0]}: {mutant[1]}")
    print(
        f"{sum(counts.values())} mutants: {counts['CaughtMutant'] + counts['Timeout']} caught"
        f" ({counts['Timeout']} by the time limit), {counts['Unviable']} unviable,"
        f" {counts['MissedMutant']} survived ({counts['MissedMutant']} of which"
        f" {sum(min(n, accepted[m].get('count', 1)) for m, n in missed.items() if m in accepted)} with a reason)"
    )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
