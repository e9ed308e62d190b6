"""How much is measured, and under which names."""

from typing import Final

import msgspec

ON_POSTGRES: Final = ("weftwork_postgres", "dbos_postgres")
"""Subjects that need a PostgreSQL server, which the bench starts."""
SUBJECTS: Final = ("weftwork", "bare_memory", "bare_sqlite", "langgraph", "dbos", *ON_POSTGRES)
CLIENTS: Final = {"clients1": 1, "clients16": 16}
WORKFLOWS: Final = {"one_step": 1, "three_step": 3}
KEY: Final = "key-of-the-bench"
TEST_KEY: Final = "hk_test_key-of-the-bench"
"""Of the same tenant."""
LEAST_ROUNDS: Final = 5
"""Fewer are not written down."""


class BenchError(Exception):
    """Something could not be measured; the message says what and why."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A stage is one workflow with one number of clients; it ends after `runs` or after `seconds`."""

    rounds: int = 7
    runs: int = 10_000
    seconds: float = 3.0
    warm: int = 100
    """Runs of every stage before anything is measured."""
    startups: int = 5
    lives: int = 5
    """How many hosts live through `life` runs."""
    life: int = 20_000
    streams: int = 1_000
    fanouts: int = 5
    stalled: int = 500
    """Readers that do not read."""
    first_events: int = 200
    costs: int = 3
    """How often a long run is compared with short ones."""
    nodes: int = 9_998
    """Nodes of the long run: two events each, and two for the run."""
    graph: int = 1_000
    """Nodes of the largest graphs; the smaller ones have a tenth and a hundredth of them."""
    graphs: int = 5
    """How often each graph is registered, and how often its nodes are measured."""
    loop: int = 1_000
    """Rounds of the loop."""
    items: int = 10_000
    maps: int = 3
    """How many hosts map over the `items`."""
    python: int = 2_000
    """Nodes in Python of all runs together between two readings of the CPU time."""
    sleepers: int = 1_000
    fetches: int = 2_000
    """Requests to others, guarded and unguarded."""
    waiting: int = 10_000
    """Runs that wait for people."""
    quiet: float = 10.0
    """Seconds without requests to the host that holds them."""
    pages: int = 1_000
    """Pages of the inbox."""
    answers: int = 200
    """Of them, by links; as many as one page of the inbox can have."""
    children: int = 1_000
    """Child runs of a map."""
    steps: int = 50
    """Nodes of the long ones."""
    tree: int = 21
    """Children of every run of a tree that is three deep; of those above the last, one more."""
    pairs: int = 10_000
    """Parents that wait, with a child each."""
    judgements: int = 2_000
    """Envelopes that are judged between two readings of the CPU time."""
    chunks: int = 2_000
    """Of one streamed answer."""
    answers_streamed: int = 5
    """How often it is streamed, at each pace."""
    provider_rounds: int = 5
    provider_chunks: int = 250
    """Of one answer of a model server, read through the host and directly."""
    provider_streams: int = 200
    """Answers at the same time."""
    provider_stream_chunks: int = 100
    """Of each of them."""
    turns: int = 2_000
    """Turns of a model with an envelope each."""
    turns_of_run: int = 50
    surfaces: int = 300
    """Forms that are answered."""
    warm_surfaces: int = 50
    surface_tabs: int = 7
    """Tabs in which a surface is rendered."""
    transfers: int = 7
    """How often assets are moved, in every way."""
    transfer_seconds: float = 1.0
    """For how long, each time."""
    images: int = 1_000
    """That one run makes."""
    restarts: int = 5
    """How often a host is started on each large store."""
    restart_runs: int = 25_000
    """Of the tree."""
    restart_mib: int = 900
    """Of the long log."""
    restart_waiting: int = 100_000
    """Runs that wait, half of them for a time."""
    look_events: int = 200_000
    """Of the run whose earlier states are looked at."""
    looks: int = 400
    """After the first one, on each host."""
    first_looks: int = 3
    """How many hosts look at it."""
    fork_events: int = 10_000
    """Of the runs that are forked."""
    forks: int = 30
    """How often each of them is forked, in each way."""
    tenant_seconds: float = 8.0
    """How long the creates of tenants are measured, each time."""
    hostile_seconds: float = 2.0
    """For how long each case of the hostile corpus is repeated at least."""
    hostile_bodies: int = 800
    """Slow bodies at the same time."""
    hostile_creates: int = 100
    """Creates with large inputs at the same time."""
    postgres_rounds: int = 7
    """How often 64 clients load a host on PostgreSQL, and how often the store is measured alone in each way."""
    postgres_seconds: float = 2.0
    """For how long the store is measured, each time."""


FULL: Final = Plan()
QUICK: Final = Plan(
    rounds=1,
    runs=200,
    seconds=0.5,
    warm=5,
    startups=3,
    lives=1,
    life=400,
    streams=50,
    fanouts=1,
    stalled=20,
    first_events=10,
    costs=1,
    nodes=498,
    graph=100,
    graphs=1,
    loop=20,
    items=200,
    maps=1,
    python=50,
    sleepers=50,
    fetches=20,
    waiting=200,
    quiet=0.5,
    pages=20,
    answers=20,
    children=20,
    steps=5,
    tree=2,
    pairs=50,
    judgements=20,
    chunks=100,
    answers_streamed=1,
    provider_rounds=1,
    provider_chunks=25,
    provider_streams=10,
    provider_stream_chunks=10,
    turns=20,
    turns_of_run=10,
    surfaces=5,
    warm_surfaces=2,
    surface_tabs=1,
    transfers=1,
    transfer_seconds=0.2,
    images=20,
    restarts=1,
    restart_runs=20,
    restart_mib=2,
    restart_waiting=20,
    look_events=2_000,
    looks=10,
    first_looks=1,
    fork_events=500,
    forks=2,
    tenant_seconds=0.4,
    hostile_seconds=0.1,
    hostile_bodies=5,
    hostile_creates=2,
    postgres_rounds=1,
    postgres_seconds=0.2,
)
"""A smoke test: every part runs, no figure means anything."""


class Sample(msgspec.Struct, frozen=True):
    """What one stage of one subject gave."""

    seconds: float
    latencies: list[float]
    """Milliseconds from the start of a run until its end is known."""
    cpu_seconds: float = 0.0
    """User and system time of the subject's processes."""
    server_cpu_seconds: float = 0.0
    """That of all processes of the database server; 0 for a subject that has none."""
