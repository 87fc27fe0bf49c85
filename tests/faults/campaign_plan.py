"""What happens in a run of the campaign, by its seed: how many ranks there are, and what becomes of
which."""

import random

least_ranks, most_ranks = 4, 8
places = ["any", "sum", "message", "new_group", "agree", "shrink", "whole"]
# Where a build with TUTTI_FAULT_POINTS can stop or end a rank, and at which passing at the latest.
fault_points = {"decision.wait": 6, "shrink.open": 3, "shrink.commit": 3, "agreement.wait": 4,
                "membership.wait": 6, "control.verdict": 3, "exchange.wait": 200,
                "ring.segment": 40, "transport.connect": 4, "shm.wait": 200, "shm.message": 20}
first_passing = {"membership.wait": 2, "exchange.wait": 20, "transport.connect": 2, "shm.wait": 20}


class Fate:
    def __init__(self, how, words, point, wakes_after_s):
        self.how = how  # kill, stop, exit, quit or cut
        self.words = words  # for the worker; "" if it is a fault point
        self.point = point  # TUTTI_FAULT
        self.wakes_after_s = wakes_after_s  # None: when the others have ended

    def __str__(self):
        wakes = "" if self.wakes_after_s is None else f", wakes after {self.wakes_after_s:.1f} s"
        return f"{self.point or self.words}{wakes if self.how == 'stop' else ''}"


class Plan:
    def __init__(self, seed, sizes, hows, has_fault_points, wakes_last=False):
        self.what = "all"
        self.wakes_last = wakes_last
        self.seed = seed
        chance = self.chance = random.Random(seed)
        self.size = chance.randint(*sizes)
        # Few often, all but one sometimes.
        count = min(1 + int(chance.expovariate(0.7)), self.size - 1)
        victims = chance.sample(range(self.size), count)
        if chance.random() < 0.4 and 0 not in victims:
            victims[0] = 0  # the coordinator
        self.has_agent = chance.random() < 0.5  # else rank 0 serves the store
        self.fates = {}
        moment = None
        for victim in victims:
            at_once = moment is not None and chance.random() < 0.4
            moment = moment if at_once else self.draw_moment()
            points = has_fault_points and chance.random() < 0.4
            self.fates[victim] = self.draw_fate(chance.choice(hows), moment, points)

    def draw_moment(self):
        """Soon, or when some calls have gone well."""
        place = self.chance.choice(places)
        often = {"any": 40, "sum": 8, "message": 4, "new_group": 4, "agree": 5}.get(place, 1)
        delay_us = self.chance.choice([0, self.chance.randint(1, 500), self.chance.randint(1, 8000)])
        return f"{place} {self.chance.randint(1, often)} {delay_us}"

    def draw_fate(self, how, moment, points):
        late_s = self.chance.uniform(1.5, 3)
        early_s = self.chance.uniform(0.05, 3)
        wakes_after_s = self.chance.choice([None if self.wakes_last else late_s, early_s])
        if points and how in ("kill", "stop", "exit"):
            name = self.chance.choice(list(fault_points))
            passing = self.chance.randint(first_passing.get(name, 1), fault_points[name])
            return Fate(how, "", f"{name}@{passing}={how}", wakes_after_s)
        return Fate(how, f"{how} {moment}", "", wakes_after_s)

    @classmethod
    def of_agreements(cls, seed, size):
        """All but one are killed, each in the midst of an agreement."""
        plan = cls(seed, (size, size), ["kill"], False)
        plan.what = "agree"
        chance = plan.chance
        last = chance.randrange(size)
        moments = [f"agree {chance.randint(1, 30)} {chance.choice([0, chance.randint(1, 700)])}"
                   for _ in range(1 + size // 2)]  # several at once
        plan.fates = {rank: plan.draw_fate("kill", chance.choice(moments), False)
                      for rank in range(size) if rank != last}
        return plan

    def __str__(self):
        fates = "; ".join(f"rank {rank}: {fate}" for rank, fate in self.fates.items())
        return f"{self.size} ranks, {'a' if self.has_agent else 'rank 0 has the'} store, {fates}"
