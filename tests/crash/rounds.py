"""A run: rounds in which processes die, each followed by finding out what became of their operations and comparing that with the tables.

A round:

  1. commands are given, alone, at once, behind one that holds the directory, or again and again, and processes die
  2. what can be read now is compared: acknowledged is there, reported failed is not, unknown is there whole or not at all
  3. the tables take the next append at once; in half of the rounds only after the next step
  4. what is unknown is resolved by repeating the same command with the same operation id, which may die as well
  5. everything is compared, dropped tables included; `lake check` is clean, nothing is pending
"""

import collections
import concurrent.futures
import json
import random
import shutil
import statistics
import time

import failpoints
import observe
from failpoints import APPEND, CREATE, CREATE_AND_APPEND, SETTLE
from model import Changes, State, compare, compare_living, compare_name, compare_while_others_write, contents
from observe import Violation
from processes import CONFLICT, DONE, UNDISTURBED, Fate
from workload import NAMESPACE, TABLES, Workload

# After every so many rounds, a data directory is made while processes die.
ROUNDS_PER_BIRTH = 4
SETTINGS = ("alone", "crowd", "waiting", "succession")
# How often an unknown outcome is asked for before it counts as one that nobody can resolve.
REPEATS_MAX = 5
# "At once": nothing that an earlier process left is waited for.
NEXT_APPEND_SECONDS = 8.0


class Run:
    """All rounds on one lake. Single-threaded, but for the processes of a round."""

    def __init__(self, lake, seed):
        self.lake, self.seed = lake, seed
        self.workload = Workload(lake.folder, random.Random(f"{seed}/rows"))
        self.cards = failpoints.deck(random.Random(f"{seed}/cards"))
        self.again = []  # Cards whose failpoint was not reached.
        self.tables = dict.fromkeys(TABLES)  # Incarnations by name, None for no table.
        self.graves = {}  # By incarnation: (metadata location, contents).
        self.namespaces = set()
        self.reached = collections.Counter()
        self.rounds = 0
        self.unknown_resolved = 0
        self.lost = self.duplicated = 0
        self.epoch = 0
        self.epochs = {}  # Of answers that are no replays: the operation, by epoch.
        self.done = set()  # Operations with such an answer.
        self.typical = collections.defaultdict(list)  # Seconds of undisturbed commands by kind.

    @property
    def acked(self):
        return sum(append.state is State.ACKED for append in self.workload.appends)

    def set_up(self):
        """Makes the namespace and learns how long commands take."""
        begun = time.monotonic()
        observe.must(self.lake, "namespace", "create", NAMESPACE)
        self.typical["namespace"].append(time.monotonic() - begun)
        first = Round(self, random.Random(f"{self.seed}/set-up"))
        for name in TABLES[:2]:
            for operation in (self.workload.create(name), self.workload.append(name, rows=300), self.workload.drop(name)):
                first.attempt(operation)
        first.attempt(self.workload.append(TABLES[-1], create=True, rows=300))
        first.verify()

    def round(self):
        """Plays one round; raises Violation when something is not as it must be."""
        self.rounds += 1
        rng = random.Random(f"{self.seed}/{self.rounds}")
        card, setting = (self.again.pop(), "alone") if self.again else (next(self.cards), rng.choice(SETTINGS))
        self.lake.note(f"round {self.rounds}: {card[0]}={card[1]}, {setting}")
        Round(self, rng, card).play(setting)
        if not self.reached[card]:
            self.again.append(card)
        if self.rounds % ROUNDS_PER_BIRTH == 0:
            self.birth(rng)

    def birth(self, rng):
        """Kills the very first commands of a data directory of its own: the next one makes it all the same."""
        place = ("--data-dir", str(self.lake.folder / f"born-{self.rounds}"))
        first = self.workload.namespace(0)
        acked = False
        for fate in [Fate(kill_after=self.kill_time("namespace", rng)) for _ in range(rng.randint(1, 5))] + [UNDISTURBED]:
            ended = self.lake.run(*first.arguments, *place, fate=fate)
            if ended.complaint() is not None or (fate == UNDISTURBED and ended.state != "acked"):
                raise Violation(f"{place[1]} could not be made: {ended.code} {ended.complaint() or ended.err}")
            if ended.state == "acked" and acked and not ended.answer["replayed"]:
                raise Violation(f"{place[1]}: {first.operation} was done twice")
            acked = acked or ended.state == "acked"
        made = json.loads(observe.must(self.lake, "namespace", "list", "--json", *place))
        pending = json.loads(observe.must(self.lake, "status", "--json", *place))["pending"]
        if made != [NAMESPACE] or pending:
            raise Violation(f"{place[1]} holds namespaces {made}, pending {pending}")
        shutil.rmtree(place[1])

    def finish(self):
        """Reads everything once more, this time with another reader of Iceberg, and returns the failpoints at which nobody died."""
        seen = [observe.through_another_reader(self.lake, name) for name, uuid in self.tables.items() if uuid is not None]
        seen += [observe.dropped(uuid, location) for uuid, (location, _) in self.graves.items()]
        self.judge(compare(self.workload.appends, seen))
        return [f"{name}={action}" for name in failpoints.REACHED_BY for action in ("exit", "pause") if not self.reached[name, action]]

    def judge(self, comparison):
        self.lost += comparison.lost
        self.duplicated += comparison.duplicated
        if comparison.differences:
            raise Violation("\n".join(comparison.differences))

    def kill_time(self, kind, rng, others=0):
        """Returns a moment in, or shortly after, the life of a command that may wait for others."""
        typical = statistics.median(self.typical[kind]) if self.typical[kind] else 0.2
        return typical * (1 + others * rng.random()) * 1.2 * rng.random()


class Round:
    """One round."""

    def __init__(self, run, rng, card=None):
        self.run, self.lake, self.workload, self.rng, self.card = run, run.lake, run.workload, rng, card
        self.operations = []  # Appends and changes, in the order in which they were asked for.
        self.changes = collections.defaultdict(Changes)  # By the table's name.
        self.changed = set()  # Names of which somebody tried to make, drop or register the table.
        self.registering = set()  # Incarnations.

    def play(self, setting):
        """Does everything."""
        kind = self.rng.choice(failpoints.REACHED_BY[self.card[0]])
        operation, fate = self.victim(kind)
        getattr(self, setting)(operation, fate)
        self.look()
        early = self.rng.random() < 0.5
        if early:
            self.append_at_once()
        self.resolve()
        self.abuse()
        if not early:
            self.append_at_once()
        self.verify()

    # The settings.

    def alone(self, operation, fate):
        self.attempt(operation, fate)

    def crowd(self, operation, fate):
        """Several processes want the directory at once."""
        others = [self.bystander() for _ in range(self.rng.randint(2, 4))]
        if self.rng.random() < 0.3:
            others.append((operation, self.any_fate("append", len(others))))
        self.at_once([(operation, fate), *others])

    def waiting(self, operation, fate):
        """One process holds the directory, stopped; others wait for it, and some of them die waiting."""
        held, _ = self.target(APPEND)
        holder = self.start(held, Fate(failpoint="after-stage", action="pause"))
        stopped = holder.wait_until_stopped()
        waiters = [(operation, fate)]
        for _ in range(self.rng.randint(2, 4)):
            waiters.append((self.any_operation(), self.dies("append") if self.rng.random() < 0.6 else UNDISTURBED))
        kill_holder = self.rng.random() < 0.5

        def release():
            if stopped and kill_holder:
                holder.kill()
            elif stopped:
                holder.resume()

        self.at_once(waiters, release)
        self.conclude(held, holder.ended())

    def succession(self, operation, fate):
        """The same command again and again, killed each time, with others between."""
        self.attempt(operation, fate)
        for _ in range(self.rng.randint(3, 8)):
            again = operation if self.rng.random() < 0.7 else self.any_operation()
            self.attempt(again, self.dies("append"))

    # Operations and their fates.

    def victim(self, kind):
        """Returns an operation and the fate that the round's card has for it."""
        name, action = self.card
        if kind == SETTLE:
            pending, hit = self.target(self.rng.choice((APPEND, CREATE, CREATE_AND_APPEND)))
            left = Fate(failpoint=self.rng.choice(failpoints.LEAVES_PENDING), action=self.rng.choice(("exit", "pause")), hit=hit)
            self.attempt(pending, left)
            operation = pending if self.rng.random() < 0.5 else self.filler()
            return operation, Fate(failpoint=name, action=action)
        operation, hit = self.target(kind)
        return operation, Fate(failpoint=name, action=action, hit=hit if name in failpoints.REACHED_TWICE else None)

    def target(self, kind):
        """Returns an operation of a kind that changes tables, and the hit of a failpoint in it, if there are several."""
        if kind == APPEND:
            table = self.name(living=True)
            if table is None:
                table = self.name(living=False)
                self.attempt(self.workload.create(table))
            return self.workload.append(table), None
        table = self.name(living=False)
        if table is None:
            table = self.name(living=True)
            self.attempt(self.workload.drop(table))
        if kind == CREATE:
            return self.workload.create(table), None
        return self.workload.append(table, create=True), self.rng.choice((1, 2))

    def name(self, living):
        """Returns a table's name that is taken, or one that is free, as far as is known. None: there is none."""
        names = [name for name, uuid in self.run.tables.items() if (uuid is not None) == living and name not in self.changed]
        return self.rng.choice(names) if names else None

    def filler(self):
        return self.workload.append(self.rng.choice(TABLES), create=True)

    def any_operation(self):
        """Returns anything that a person might type. It may fail: others change the same tables."""
        table = self.rng.choice(TABLES)
        draw = self.rng.random()
        if draw < 0.4:
            return self.workload.append(table)
        if draw < 0.6:
            return self.workload.append(table, create=True)
        if draw < 0.65:
            return self.workload.poison(table)
        if draw < 0.75:
            return self.workload.drop(table)
        if draw < 0.82:
            return self.workload.create(table)
        if draw < 0.87:
            return self.workload.namespace(self.run.rounds)
        buried = sorted(set(self.run.graves) - self.registering)
        if draw < 0.93 and buried:
            uuid = self.rng.choice(buried)
            self.registering.add(uuid)
            return self.workload.register(table, self.run.graves[uuid][0])
        return self.workload.read(table)

    def bystander(self):
        operation = self.any_operation()
        return operation, self.any_fate(operation.kind, 3)

    def any_fate(self, kind, others):
        draw = self.rng.random()
        if draw < 0.35:
            return UNDISTURBED
        if draw < 0.8:
            return self.dies(kind, others)
        name = self.rng.choice([name for name in failpoints.REACHED_BY])
        return Fate(failpoint=name, action=self.rng.choice(failpoints.ACTIONS))

    def dies(self, kind, others=0):
        return Fate(kill_after=self.run.kill_time(kind, self.rng, others))

    # Processes.

    def start(self, operation, fate):
        self.prepare(operation)
        return self.lake.start(operation.arguments, fate)

    def prepare(self, operation):
        if operation not in self.operations:
            self.operations.append(operation)
        if operation.kind in ("create", "drop", "register"):
            self.changed.add(operation.name)
        elif "--create" in operation.arguments:
            self.changes[operation.name].fillers = True

    def attempt(self, operation, fate=UNDISTURBED):
        """Runs an operation once."""
        ended = self.start(operation, fate).end()
        self.conclude(operation, ended)
        return ended

    def at_once(self, attempts, release=None):
        """Runs operations at the same time. `release` is called when those that are killed at some time have been."""
        for operation, _ in attempts:
            self.prepare(operation)
        with concurrent.futures.ThreadPoolExecutor(len(attempts)) as pool:
            futures = [pool.submit(self.lake.run, *operation.arguments, fate=fate) for operation, fate in attempts]
            if release is not None:
                dying = [future for future, (_, fate) in zip(futures, attempts, strict=True) if fate.kill_after is not None]
                concurrent.futures.wait(dying)
                release()
            ended = [(operation, future.result()) for (operation, _), future in zip(attempts, futures, strict=True)]
        # Of one operation that two processes did, nobody knows which was first: the better answer is the true one.
        for operation, one in sorted(ended, key=lambda pair: ("failed", "unknown", "acked").index(pair[1].state)):
            self.conclude(operation, one)

    def conclude(self, operation, ended):
        """Keeps what the caller of an operation knows after its process has ended."""
        complaint = ended.complaint()
        if complaint is not None:
            raise Violation(complaint)
        if ended.reached_failpoint:
            self.run.reached[ended.fate.failpoint, ended.fate.action] += 1
        if operation.kind == "read":
            self.conclude_read(operation, ended)
            return
        if ended.state == "acked":
            if ended.fate == UNDISTURBED:
                self.run.typical[operation.kind].append(ended.seconds)
            self.conclude_acked(operation, ended.answer)
        elif operation.state is State.ACKED and ended.state == "failed":
            # The one thing that an acknowledged append may be told later: that its table is another one now.
            if not (ended.code == CONFLICT and operation.kind == "append"):
                raise Violation(f"operation {operation.operation} was acknowledged, and then {ended.arguments} failed: {ended.err}")
        elif operation.state is State.UNKNOWN and ended.code == CONFLICT and operation.kind == "append" and operation.name in self.changed:
            operation.only_in_dropped = True
        elif operation.state is not State.ACKED:
            operation.state = State(ended.state)

    def conclude_acked(self, operation, answer):
        if operation.state is State.UNKNOWN:
            self.run.unknown_resolved += 1
        if answer["operation"] != operation.operation:
            raise Violation(f"operation {operation.operation} was answered with {answer}")
        if not answer["replayed"]:
            # Done once, by a process that does one operation under an epoch of its own.
            if operation.operation in self.run.done:
                raise Violation(f"operation {operation.operation} was done again: {answer}")
            earlier = self.run.epochs.setdefault(answer["epoch"], operation.operation)
            if earlier != operation.operation:
                raise Violation(f"operation {operation.operation} was done under the epoch of {earlier}: {answer}")
            self.run.done.add(operation.operation)
        operation.state = State.ACKED
        if operation.kind in ("create", "register"):
            self.changes[operation.name].made.add(answer["uuid"])
        elif operation.kind == "drop":
            self.changes[operation.name].dropped.add(answer["uuid"])
            self.run.graves[answer["uuid"]] = (answer["metadata_location"], None)
        elif operation.kind == "namespace":
            self.run.namespaces.add(operation.name)

    def conclude_read(self, operation, ended):
        if ended.code == DONE:
            operation.answer = observe.documents(ended.out)
        elif ended.fate == UNDISTURBED and operation.name not in self.changed and self.run.tables[operation.name] is not None:
            raise Violation(f"{ended.arguments} failed: {ended.err}")

    # What follows the deaths.

    def look(self):
        """Compares what can be read before anybody settles anything."""
        for operation in self.operations:
            uuid = self.run.tables.get(operation.name)
            if operation.kind == "read" and operation.answer is not None and uuid is not None and operation.name not in self.changed:
                one = contents(uuid, f"table {operation.name}", True, operation.answer[0])
                self.run.judge(compare_while_others_write(self.workload.appends, one))
        names = set(observe.table_names(self.lake)) - self.changed
        uuids = {name: self.run.tables[name] or f"new {name}" for name in sorted(names)}
        tables = set(TABLES) - self.changed
        self.run.judge(compare_living(self.workload.appends, observe.living(self.lake, uuids), tables))

    def append_at_once(self):
        """Checks that every table that the round touched takes the next append without waiting for anything."""
        for name in sorted({operation.name for operation in self.operations} & set(TABLES)):
            ended = self.attempt(self.workload.append(name, create=True, rows=3, wait="0"))
            if ended.code != DONE or ended.seconds > NEXT_APPEND_SECONDS:
                raise Violation(f"{name} does not take the next append at once: {ended.code} after {ended.seconds:.1f} s\n{ended.err}")

    def resolve(self):
        """Repeats every operation whose outcome is unknown, and some that failed, until each outcome is known."""
        unknown = [one for one in self.operations if one.kind != "read" and one.state is State.UNKNOWN]
        failed = [one for one in self.operations if one.kind != "read" and one.state is State.FAILED and self.rng.random() < 0.2]
        self.rng.shuffle(unknown)
        for operation in unknown + failed:
            if self.rng.random() < 0.3:
                self.attempt(operation, self.dies(operation.kind))
            for _ in range(REPEATS_MAX):
                if operation.state is not State.UNKNOWN or operation.only_in_dropped:
                    break
                self.attempt(operation)
            else:
                raise Violation(f"operation {operation.operation} stays unknown: {operation.arguments}")

    def abuse(self):
        """Repeats what was acknowledged, and asks for something else under the same id: neither may do anything."""
        done = [one for one in self.operations if one.kind == "append" and one.state is State.ACKED]
        if done and self.rng.random() < 0.3:
            self.attempt(self.rng.choice(done))
        if done and self.rng.random() < 0.2:
            ended = self.attempt(self.workload.stolen(self.rng.choice(done)))
            if ended.state != "failed":
                raise Violation(f"an id was taken for two things: {ended.arguments}")

    def verify(self):
        """Compares everything."""
        run = self.run
        names = observe.table_names(self.lake)
        touched = {operation.name for operation in self.operations} & set(TABLES)
        now = {name: observe.table_uuid(self.lake, name) if name in touched else run.tables[name] for name in names}
        for name in TABLES:
            wrong = compare_name(name, run.tables[name], self.changes[name], now.get(name))
            if wrong:
                raise Violation("\n".join(wrong))
        run.tables = {name: now.get(name) for name in TABLES}
        for uuid, (location, known) in list(run.graves.items()):
            if uuid in now.values():
                del run.graves[uuid]
            elif known is None:
                run.graves[uuid] = (location, observe.dropped(uuid, location))
        seen = observe.living(self.lake, now) + [known for _, known in run.graves.values()]
        run.judge(compare(self.workload.appends, seen))
        for one in seen:
            for number in one.seen:
                self.workload.appends[number - 1].home = one.uuid
        if (found := observe.namespaces(self.lake)) != run.namespaces:
            raise Violation(f"namespaces: found {sorted(found)}, acknowledged {sorted(run.namespaces)}")
        epoch = observe.check(self.lake)
        if epoch < max(run.epoch, *run.epochs):
            raise Violation(f"the epoch went back: {epoch} after {max(run.epoch, *run.epochs)}")
        run.epoch = epoch
