"""Whether a run of the campaign ended as it should, and what it took."""

import collections

ends = {"kill": -9, "exit": 3, "quit": 3}


class Verdict:
    def __init__(self, run):
        self.run = run
        self.said = collections.defaultdict(list)
        for rank, words in run.lines:
            self.said[rank].append(words)
        self.faults = []
        self.told = collections.defaultdict(list)  # milliseconds, by what happened
        self.shrunk = collections.defaultdict(list)
        self.whole = collections.defaultdict(list)
        # A fault point may lie on the way to the first group, which is then not made.
        self.is_void = any(fate.point for fate in run.plan.fates.values()) and any(
            words[:2] == ["bad", "init:"] for _, words in run.lines)
        if not self.is_void or run.hung:
            self.judge()
        if not self.faults:
            self.measure()

    def first(self, rank, what):
        return next((words[1:] for words in self.said[rank] if words[0] == what), None)

    def struck(self, rank):
        """What has happened to the rank; "" if nothing has."""
        fate = self.run.plan.fates.get(rank)
        if fate is None:
            return ""
        ended = fate.point and self.run.ranks[rank].returncode == ends.get(fate.how)
        return fate.how if rank in self.run.struck or ended else ""

    def judge(self):
        if self.run.hung:
            self.faults.append("hung: ranks " + ", ".join(map(str, self.run.hung)))
            return
        for rank, process in enumerate(self.run.ranks):
            wanted = ends.get(self.struck(rank), 0)
            if process.returncode != wanted:
                why = self.first(rank, "bad")
                what = "a wrong result" if process.returncode == 9 else " ".join(why or [])
                self.faults.append(f"rank {rank} ended with {process.returncode}, not {wanted}: "
                                   f"{what}")
        if not self.faults:
            self.compare_members()
        if not self.faults:
            self.compare_ways()

    def compare_members(self):
        ranks = range(self.run.plan.size)
        end = {rank: self.first(rank, "end") for rank in ranks if self.first(rank, "end")}
        out = [rank for rank in ranks if self.first(rank, "out") is not None]
        if len(set(map(tuple, end.values()))) != 1:
            self.faults.append(f"not one membership at the end: {end}")
            return
        members = set(map(int, next(iter(end.values()))))
        if self.run.plan.what == "agree":
            return  # the group stays as it is
        if members != set(end):
            self.faults.append(f"members {sorted(members)} at the end, but {sorted(end)} ended so")
        cuts = [rank for rank in ranks if self.struck(rank) == "cut"]
        lost = [rank for rank in out if self.struck(rank) != "stop"]
        if len(lost) > len(cuts):
            self.faults.append(f"ranks {lost} were ruled out, and did nothing")

    def compare_ways(self):
        """Those that went on to the end went the same way; to the next agreement, if there are
        only agreements."""
        if self.run.plan.what == "agree":
            self.compare_agreements()
            return
        ways = collections.defaultdict(list)
        for rank, said in self.said.items():
            if self.first(rank, "end"):
                way = [" ".join(words) for words in said if words[0] in ("members", "agreed")]
                ways["; ".join(way)].append(rank)
        if len(ways) != 1:
            self.faults.append(f"ranks went different ways: {dict(ways)}")

    def compare_agreements(self):
        values = {rank: [words[1] for words in said if words[0] == "agreed"]
                  for rank, said in self.said.items()}
        longest = max(map(len, values.values()))
        for turn in range(longest):
            seen = {rank: of[turn] for rank, of in values.items()
                    if len(of) > turn + 1 or (len(of) > turn and self.first(rank, "end"))}
            if len(set(seen.values())) > 1:
                self.faults.append(f"agreement {turn + 1} has several values: {seen}")

    def measure(self):
        for rank, said in self.said.items():
            if self.first(rank, "end"):
                self.measure_rank(said)

    def measure_rank(self, said):
        failed = shrinks = None
        for words in said:
            if words[0] == "failed" and words[3] == "TUTTI_ERR_PEER_LOST":
                failed = failed or words
                self.note_told(words)
            elif words[0] == "shrinks":
                shrinks = int(words[1])
            elif words[0] == "whole":
                if failed and shrinks:
                    self.note_whole(failed, shrinks, int(words[1]))
                failed = shrinks = None

    def note_told(self, words):
        began, now, lost = int(words[1]), int(words[2]), int(words[4])
        struck = self.run.struck.get(lost)
        if struck is not None and struck < now:
            self.told[self.kind(lost)].append((now - max(struck, began)) / 1e6)

    def kind(self, rank):
        return {"quit": "exit"}.get(self.run.plan.fates[rank].how, self.run.plan.fates[rank].how)

    def note_whole(self, failed, shrinks, now):
        """Alone where no other rank fell meanwhile."""
        lost = int(failed[4])
        began = self.run.struck.get(lost)
        if began is None:
            return
        meanwhile = [rank for rank, at in self.run.struck.items() if began <= at <= now]
        kind = self.kind(lost) if meanwhile == [lost] else "several"
        self.whole[kind].append((now - int(failed[2])) / 1e6)
        self.shrunk[kind].append((now - shrinks) / 1e6)
