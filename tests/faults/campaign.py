"""Seeded runs in which ranks fall and the others go on; see the script campaign."""

import argparse
import collections
import concurrent.futures
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from faults.campaign_judge import Verdict
from faults.campaign_plan import Plan, least_ranks, most_ranks
from faults.campaign_run import Run
from support.peers import test_seed

patience_s = 60 * int(os.environ.get("TUTTI_TEST_PATIENCE") or 1)
most_lines = 100  # of a run, shown
kinds = ["kill", "exit", "stop", "cut", "several"]


def variables_of(backend, build):
    if backend == "hierarchy":
        return backend, {"TUTTI_HOSTS": "0,1"}
    if backend == "nccl":
        return "cpu:gloo,cuda:nccl", {
            "TUTTI_CUDA_LIBRARY": f"{build}/lib/fake_cuda/libcuda.so.1",
            "TUTTI_NCCL_LIBRARY": f"{build}/lib/fake_nccl/2.28.9/libnccl.so.2",
            "TUTTI_FAKE_CUDA_DEVICES": str(most_ranks), "TUTTI_FAKE_CUDA_SCHEDULE": "lazy"}
    return backend, {}


def has_fault_points(build):
    with open(f"{build}/lib/libtutti.so", "rb") as library:
        return b"decision.wait\0" in library.read()


class Campaign:
    def __init__(self, options):
        self.options = options
        self.build = os.path.abspath(options.build)
        self.backend, self.variables = variables_of(options.backend, self.build)
        self.fault_points = has_fault_points(self.build)
        self.times = collections.defaultdict(list)  # by what was measured, and the kind
        self.counts = collections.Counter()

    def run(self, seed):
        if self.options.agree:
            plan = Plan.of_agreements(seed, self.options.ranks[1])
        else:
            plan = Plan(seed, self.options.ranks, self.options.how, self.fault_points,
                        self.options.wake_last)
        run = Run(plan, f"{self.build}/bin/tutti_campaign_worker", self.backend, self.variables,
                  patience_s)
        run.go()
        return run, Verdict(run)

    def go(self):
        seeds = range(self.options.seed, self.options.seed + self.options.runs)
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            for run, verdict in pool.map(self.run, seeds):
                self.note(run, verdict)

    def note(self, run, verdict):
        self.counts["runs"] += 1
        self.counts["bad"] += bool(verdict.faults)
        self.counts["hung"] += bool(run.hung)
        self.counts["void"] += verdict.is_void
        self.counts["struck"] += sum(verdict.struck(rank) != "" for rank in run.plan.fates)
        for what in ("told", "shrunk", "whole"):
            for kind, times in getattr(verdict, what).items():
                self.times[what, kind] += times
        if verdict.faults:
            print(f"BAD tests/faults/campaign -d {self.options.build} --backend "
                  f"{self.options.backend} {self.how_again()} "
                  f"--runs 1 --seed {run.plan.seed} --show  ({run.plan})")
            for fault in verdict.faults:
                print("    " + fault)
        if verdict.faults or self.options.show:
            if self.options.show:
                print(run.plan)
            lines = [line for line in run.lines if line[1][0] not in ("round", "agreed")]
            for rank, words in lines[:most_lines]:
                print("   ", rank, *words)
            print(run.other_text, flush=True)

    def how_again(self):
        least, most = self.options.ranks
        agree = " --agree" if self.options.agree else ""
        last = " --wake-last" if self.options.wake_last else ""
        return f"--ranks {least}..{most} --how {','.join(self.options.how)}{agree}{last}"

    def summary(self):
        print(f"{self.options.backend}: {self.counts['runs']} runs, {self.counts['struck']} ranks "
              f"fell, {self.counts['bad']} runs bad, {self.counts['hung']} of them hung"
              + (f", {self.counts['void']} ended before they began" if self.counts["void"] else ""))
        headline = {"told": "from the fall to the failed call",
                    "shrunk": "from the call of shrink_group to a right all_reduce",
                    "whole": "from the failed call to a right all_reduce"}
        print(f"{'ms':52}{'':8}{'times':>7}{'p50':>9}{'p99':>9}{'max':>9}")
        for what, words in headline.items():
            for kind in kinds:
                times = sorted(self.times[what, kind])
                if times:
                    print(f"{words:52}{kind:8}{len(times):7}{times[len(times) // 2]:9.1f}"
                          f"{times[len(times) * 99 // 100]:9.1f}{times[-1]:9.1f}")
        return 1 if self.counts["bad"] else 0


def sizes(text):
    least, _, most = text.partition("..")
    pair = int(least), int(most or least)
    if not 2 <= pair[0] <= pair[1] <= most_ranks:
        raise argparse.ArgumentTypeError(f"2 to {most_ranks} ranks")
    return pair


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--backend", default="shm",
                        choices=["shm", "tcp", "hierarchy", "gloo", "nccl"])
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--seed", type=int, default=test_seed())
    parser.add_argument("--ranks", type=sizes, default=(least_ranks, most_ranks))
    parser.add_argument("--how", type=lambda text: text.split(","),
                        default=["kill", "stop", "exit", "quit", "cut"])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--wake-last", action="store_true")
    parser.add_argument("--agree", action="store_true")
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    campaign = Campaign(options)
    try:
        campaign.go()
    finally:
        status = campaign.summary()
    return status


sys.exit(main())
