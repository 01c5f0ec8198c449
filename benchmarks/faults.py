"""Attacks on what mercer promises: certificates, threads, folders, writers, faults, power failures.

scripts/bench faults --seconds 60
scripts/bench faults --only certificate,threads --seconds 600
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Sequence

from benchmarks.attacks import certificate, folders, injected, killed, power, threads, writers
from benchmarks.attacks.base import Outcome
from benchmarks.measure import table

ATTACKS: dict[str, Callable[[float], Outcome]] = {
    "certificate": certificate.attack,
    "threads": threads.attack,
    "damage": folders.damage,
    "sealed": folders.sealed,
    "writers": writers.attack,
    "injected": injected.attack,
    "power": power.attack,
    "killed": killed.attack,
}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help=f"some of {', '.join(ATTACKS)}, with commas")
    parser.add_argument("--seconds", type=float, default=60.0, help="of each attack")
    asked = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    rows: list[list[object]] = []
    outcomes = []
    for name in asked.only.split(",") if asked.only else ATTACKS:
        began = time.perf_counter()
        outcome = ATTACKS[name](asked.seconds)
        outcomes.append(outcome)
        rows.append([name, outcome.trials, outcome.failures, time.perf_counter() - began])
    table(["attack", "trials", "failures", "seconds"], rows)
    for outcome in outcomes:
        for text in outcome.told:
            print(f"{outcome.attack}: {text}")
    return sum(outcome.failures for outcome in outcomes)


if __name__ == "__main__":
    raise SystemExit(min(1, main()))
