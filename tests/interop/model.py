"""What a store must answer: a sequential store of a few lines, and random operations on it."""


class Model:
    """The rules of PyTorch 2's stores. Every method answers the words a peer must answer."""

    def __init__(self):
        self.values = {}
        self.queues = {}

    def set(self, key, value):
        self.values[key] = value

    def get(self, key):
        return [self.values[key]]

    def add(self, key, amount):
        total = int(self.values.get(key, b"0")) + amount
        self.values[key] = str(total).encode()
        return [total]

    def append(self, key, value):
        self.values[key] = self.values.get(key, b"") + value

    def check(self, *keys):
        return [int(all(key in self.values for key in keys))]

    def wait(self, _, *keys):
        pass

    def compare_set(self, key, expected, desired):
        if self.values.get(key, b"") == expected:
            self.values[key] = desired
        return [self.values.get(key, expected)]

    def delete_key(self, key):
        return [int(self.values.pop(key, None) is not None)]

    def multi_get(self, *keys):
        return [self.values[key] for key in keys]

    def multi_set(self, *keys_and_values):
        self.values.update(zip(keys_and_values[::2], keys_and_values[1::2]))

    def num_keys(self):
        return [len(self.values)]

    def list_keys(self):
        return sorted(self.values)

    def queue_push(self, key, value):
        self.queues.setdefault(key, []).append(value)

    def queue_pop(self, key):
        return [self.queues[key].pop(0)]

    def queue_len(self, key):
        return [len(self.queues.get(key, []))]

    def clone(self):
        pass


# Around the sizes at which the wire, its buffers and the kernel's change what they do.
sizes = [0, 1, 7, 8, 9, 100, 1439, 1440, 1441, 4096, 65535, 65536, 70001, 1 << 20, (1 << 20) + 17]
weights = [6, 6, 4, 4, 4, 8, 4, 4, 4, 4, 2, 2, 2, 1, 1]

texts = ["k", "a/b", "with space", "Schlüssel", "鍵", "-/k", "x" * 4000, "init", "0", "K"]
counters = ["n", "m/1", "zähler"]
queues = ["queue", "q/2"]


def random_value(random):
    return random.randbytes(random.choices(sizes, weights)[0])


def random_operation(random, model, names):
    """A name and its arguments, str for what is no key or value; nothing that would wait."""
    there = sorted(model.values)
    name = random.choice(names)
    key = random.choice(texts).encode()
    counter = random.choice(counters).encode()
    some = [random.choice(texts + counters).encode() for _ in range(random.randint(1, 6))]
    if name in ("get", "wait", "multi_get") and not there:
        return "check", some
    if name.startswith("queue"):
        queue = random.choice(queues).encode()
        if name == "queue_len":
            return name, [queue]
        if name == "queue_push" or not model.queues.get(queue):
            return "queue_push", [queue, random_value(random)]
        return name, [queue]
    if name in ("set", "append"):
        return name, [key, random_value(random)]
    if name == "get":
        return name, [random.choice(there)]
    if name == "add":
        return name, [counter, random.choice([0, 1, -1, 7, -(10**12), 2**40])]
    if name == "compare_set":
        now = model.values.get(key, b"")
        return name, [key, random.choice([now, b"", random_value(random)]), random_value(random)]
    if name == "wait":
        return name, [60_000] + random.choices(there, k=random.randint(1, 6))
    if name == "multi_get":
        return name, random.choices(there, k=random.randint(1, 6))
    if name == "multi_set":
        chosen = random.sample(texts, random.randint(1, 5))
        return name, [word for k in chosen for word in (k.encode(), random_value(random))]
    if name == "delete_key":
        return name, [random.choice([key, counter])]
    return name, some if name == "check" else []
