"""The composition root: builds a host from its settings. The only module that imports every adapter."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from importlib.metadata import version
from typing import Any

from weftwork.adapters.admin.server import AdminServer
from weftwork.adapters.expressions.worker_pool import WorkerPool
from weftwork.adapters.http.app import App, Handler
from weftwork.adapters.http.routes.assets import AssetRoutes
from weftwork.adapters.http.routes.events import EventRoutes
from weftwork.adapters.http.routes.forks import ForkRoutes
from weftwork.adapters.http.routes.host_info import (
    HostInfoRoutes,
    OrganisationRoutes,
    StaticDocument,
    SurfaceModuleRoute,
)
from weftwork.adapters.http.routes.interrupts import InterruptRoutes
from weftwork.adapters.http.routes.review import BundleRoutes, ImportRoutes, ReviewRoutes
from weftwork.adapters.http.routes.runs import RunRoutes
from weftwork.adapters.http.routes.surfaces import SurfaceRoutes
from weftwork.adapters.http.routes.workflows import WorkflowRoutes
from weftwork.adapters.http.server.limits import BodyMemory
from weftwork.adapters.http.server.request_turns import RequestTurns
from weftwork.adapters.http.shared_bodies import SharedBodies
from weftwork.adapters.http.snapshots import SnapshotCache
from weftwork.adapters.outbound.client import GuardedClient
from weftwork.adapters.python.node_runner import PythonNodes
from weftwork.adapters.python.threads import ThreadPool
from weftwork.adapters.system.clock_and_ids import RandomIds, SystemClock
from weftwork.adapters.system.lock_file import LockFile
from weftwork.adapters.system.loop_watchdog import LoopWatchdog
from weftwork.engine.api.administration import Administration
from weftwork.engine.api.annotations import Annotations
from weftwork.engine.api.answer_pages import AnswerPages
from weftwork.engine.api.assets import TenantAssets
from weftwork.engine.api.interrupts import InterruptLinks, Interrupts
from weftwork.engine.api.keyring import Keyring
from weftwork.engine.api.lineage.forks import Forks
from weftwork.engine.api.lineage.imports import Imports
from weftwork.engine.api.lineage.retries import Retries
from weftwork.engine.api.lineage.run_trees import RunTrees
from weftwork.engine.api.retention import Retention
from weftwork.engine.api.review import Bundles, LookBack, RunDiffs
from weftwork.engine.api.run_control import RunControl
from weftwork.engine.api.runs import EventStreams, Runs
from weftwork.engine.api.store_changes import StoreChanges
from weftwork.engine.api.surfaces import Surfaces
from weftwork.engine.api.workflows import Workflows
from weftwork.engine.fence import ExecutorFence
from weftwork.engine.host.catalog import WorkflowCatalog
from weftwork.engine.host.executor import Executor
from weftwork.engine.host.recovery import RecoveryProgress
from weftwork.engine.host.shutdown import ClosedEffect, OpenEffect
from weftwork.engine.host.sweeper import Sweeper
from weftwork.engine.media.asset_sweep import AssetSweep
from weftwork.engine.media.assets import Assets
from weftwork.engine.run.loop_share import LoopShare
from weftwork.engine.runtime import Runtime
from weftwork.engine.signer import Signer
from weftwork.engine.streams.feeds import Feeds
from weftwork.engine.tenant_logs import tenant_logs_of
from weftwork.ports.clock import Clock
from weftwork.ports.fault_points import fault_point
from weftwork.ports.ids import Ids
from weftwork.ports.models import ModelProvider, model_catalogue
from weftwork.ports.nodes import NodeType
from weftwork.ports.storage.host_lock import HostLock
from weftwork.ports.storage.store import Store
from weftwork.protocol.envelopes.instructions import UNIVERSAL_DIRECTIVE
from weftwork.protocol.models.prompt_templates import prompt_family
from weftwork.protocol.run.child_runs import host_id
from weftwork.protocol.run.header import FORK_MODES
from weftwork.protocol.wire.capabilities import HostOffer, discovery_document
from weftwork.protocol.wire.openapi import openapi
from weftwork.protocol.wire.v1.assets import ASSET_PREFIXES
from weftwork.protocol.wire.v1.interrupts import INTERRUPT_TOKEN_PREFIX
from weftwork.protocol.wire.v1.routes import ROUTES, SCOPES
from weftwork.protocol.workflow.registration import find_gated_node
from weftwork.settings import Settings
from weftwork.wiring.blob_store import build_blobs
from weftwork.wiring.data_folder import ADMIN_SOCKET, LOCK_FILE, NoLock, acquire_lock, folder_error, make_folder
from weftwork.wiring.dependencies import require_evaluator
from weftwork.wiring.envelope_kinds import check_kind_schemas, displayed_kinds, load_kinds
from weftwork.wiring.local_model import build_model_server
from weftwork.wiring.loop_activity import LoopActivity
from weftwork.wiring.models import build_models, load_templates
from weftwork.wiring.node_types import builtin_node_types, check_packages, declarations_by_type, load_python_nodes
from weftwork.wiring.organisation import build_site
from weftwork.wiring.store import build_hints, build_store, report_of

log = logging.getLogger("weftwork")


class Host:
    """A host without its listener: the store, the engine and the ASGI application. `open` makes the host ready to serve
    requests; unfinished runs are resumed in the background (`resume_runs`)."""

    def __init__(
        self,
        settings: Settings,
        clock: Clock | None = None,
        ids: Ids | None = None,
        nodes: Iterable[Callable[..., Any]] = (),
        providers: Iterable[ModelProvider] = (),
    ) -> None:
        self.settings = settings
        self.version = version("weftwork")
        self._clock = clock or SystemClock()
        self._ids = ids or RandomIds()
        self._in_memory = settings.store_kind == "memory"
        self._lock: HostLock = NoLock() if self._in_memory else LockFile(settings.data_folder / LOCK_FILE)
        self._store: Store = build_store(settings)
        agent = f"weftwork/{self.version}"
        self.outbound = GuardedClient(settings.fetch_policy(), settings.fetch_limits(), agent=agent)
        threads = ThreadPool(settings.max_node_threads, settings.max_abandoned_threads)
        self._library = PythonNodes(load_python_nodes(settings.nodes, nodes), threads, self.outbound)
        self.watchdog = LoopWatchdog(LoopActivity(self._library.nodes).identify, self._clock.now)
        self._templates = load_templates(settings)
        self.types: Mapping[str, NodeType] = {
            **builtin_node_types(self.outbound, settings.conversation, settings.conformance, self._templates),
            **self._library.types,
        }
        self.model_server = build_model_server(settings, self._ids)
        models = build_models(settings, self._clock, providers, agent, self.model_server)
        self.models, self.script_player, self._provider_clients = models.registry, models.script_player, models.clients
        self.model_catalogue = model_catalogue(self.models, settings.model_substitution)
        check_packages(settings.nodes, self.model_catalogue)
        self._feeds = Feeds(self._store.log, settings.limits())
        self.kinds = load_kinds(settings).with_displayed(displayed_kinds(settings))
        self._signer = Signer(self._store.signing, self._clock, self._ids)
        self.blobs = build_blobs(settings, self._clock, self._ids)
        self.assets = Assets(
            self._store.assets,
            self.blobs,
            self._signer,
            self._clock,
            settings.limits(),
            settings.media_base(),
            ASSET_PREFIXES,
        )
        self._tenant_assets = TenantAssets(self.assets, self._clock, settings.limits())
        self._asset_sweep = AssetSweep(self._store.assets, self.blobs, self._clock, self.assets.unconfirmed_keys)
        self._expression_workers = WorkerPool(settings.expression_workers)
        self._loop_share = LoopShare(time.perf_counter)
        self._fence = ExecutorFence()
        runtime = Runtime(
            self._store.log,
            self._store.ownership,
            self._store.queries,
            self._store.child_runs,
            self._store.forks,
            self._store.records,
            self._feeds,
            self._clock,
            self._ids,
            self.types,
            settings.limits(),
            self._fence,
            tenant_logs=tenant_logs_of(settings.limits(), self._store.log, self._clock),
            expression_workers=self._expression_workers,
            loop_share=self._loop_share,
            models=self.models,
            model_catalogue=self.model_catalogue,
            assets=self.assets,
            outbound=self.outbound,
            kinds=self.kinds,
            prompt_directive=UNIVERSAL_DIRECTIVE if settings.universal_kinds_in_prompts else "",
        )
        self.catalog = WorkflowCatalog(self._store.definitions, declarations_by_type(self.types), self.kinds)
        self._executor = Executor(runtime, self.catalog)
        self.service = Runs(runtime, self.catalog, self._executor)
        self._streams = EventStreams(runtime, self._executor)
        self._bundles = Bundles(runtime, self.service, self.version, self._store.annotations)
        self._annotations = Annotations(runtime, self.catalog, self._executor, self._store.annotations)
        self._imports = Imports(runtime)
        self._comparison = RunDiffs(runtime, self._executor)
        self._look_back = LookBack(runtime, self.catalog, self._executor, self.service)
        self._run_tree = RunTrees(runtime, self._executor, host_id(settings.public_url))
        self._workflows = Workflows(runtime, self.catalog)
        self.keyring = Keyring(self._store.keys, self._clock, self._ids, SCOPES)
        self._control = RunControl(runtime, self._executor)
        self._forks = Forks(runtime, self.catalog, self._executor)
        self._retries = Retries(runtime, self._executor, self._forks)
        links = InterruptLinks(
            self._signer,
            self._clock,
            self._ids,
            INTERRUPT_TOKEN_PREFIX,
            settings.public_url,
            settings.interrupt_link_days,
        )
        self._interrupts = Interrupts(runtime, self._executor, links)
        self._surfaces = Surfaces(runtime, self._executor, self._interrupts)
        self._answer_pages = AnswerPages(self._interrupts, self.catalog, self._clock)
        self._site, self._logo = build_site(settings)
        store = self._store
        self._retention = Retention(
            store.retention, store.log, store.records, self._clock, self._executor, settings.retention_days
        )
        self._sweeper = Sweeper(
            store.records, store.retention, self._clock, self._retention.delete_expired, self._asset_sweep.sweep_all
        )
        self._changes = StoreChanges(self.keyring, self._signer, self._executor, self._clock, build_hints(settings))
        self._admin: AdminServer | None = None
        self._fixtures: list[str] = []
        self.draining = False
        self._watch: asyncio.Task[None] | None = None
        self.app: App | None = None

    async def open(
        self, register: Callable[["Host"], Awaitable[None]] | None = None, resume: bool = True, take_over: bool = False
    ) -> None:
        """Take the host lock, open the store, become its executor, load keys, and start to resume unfinished runs.

        `register` adds workflows before runs are resumed, because a resumed run can start children of them. Without
        `resume` the caller has to call `resume_runs`, which a server does once it listens. Nothing here depends on the
        number of runs. `take_over` replaces another process that uses the store. Raises HostLocked, StoreUnavailable,
        SettingsError, or HostFault if the expression evaluator computes wrong values.
        """
        require_evaluator()
        if not self._in_memory:
            make_folder(self.settings.data_folder)
        acquire_lock(self._lock)
        fault_point("boot.seated")
        self.watchdog.start()
        try:
            await self._store.open()
            await self._fence.take(self._store.election, take_over)
            self._watch = asyncio.create_task(self._watch_election())
            await self.blobs.open()
            await self.keyring.load()
            await self._signer.load()
            await self._changes.start()
            if not self._in_memory:
                administration = Administration(
                    self.keyring,
                    self._retention,
                    self.catalog,
                    self._signer,
                    self._asset_sweep,
                    self.watchdog.report,
                    store_report=report_of(self._store),
                )
                self._admin = AdminServer(self.settings.data_folder / ADMIN_SOCKET, administration)
                await self._admin.start()
            if register is not None:
                await register(self)
        except BaseException as error:
            self.watchdog.stop()
            self._end_watch()
            await self._changes.close()
            await self._executor.close()
            await self._expression_workers.close()
            if self.model_server is not None:
                await self.model_server.close()
            await self.blobs.close()
            await self._store.close()
            self._lock.release()
            if isinstance(error, OSError):
                raise folder_error(error) from None
            raise
        self._library.start()
        if self.model_server is not None:
            self.model_server.start()
        self._sweeper.start()
        if resume:
            self.resume_runs()

    @property
    def replaced(self) -> asyncio.Event:
        """Set once another process executes the runs of the store. This host executes nothing any more, and has to be
        closed."""
        return self._store.election.lost

    async def _watch_election(self) -> None:
        await self.replaced.wait()
        log.critical("another process executes the runs of this store; this host stops")
        self.drain()
        self._executor.release_runs()

    def _end_watch(self) -> None:
        if self._watch is not None:
            self._watch.cancel()

    def resume_runs(self) -> "asyncio.Task[RecoveryProgress]":
        """Start to resume unfinished runs, if that has not started yet. The task ends when they are resumed."""
        return self._executor.start_recovery()

    @property
    def recovery(self) -> RecoveryProgress:
        """How many runs that were unfinished at the start are resumed."""
        return self._executor.recovery.progress

    async def register_conformance_workflows(self) -> None:
        from weftwork.conformance.workflows import REFUSED_WORKFLOWS, conformance_workflows

        for document in conformance_workflows():
            if document["id"] not in REFUSED_WORKFLOWS:
                await self.register_fixture(document)
            elif (gate := find_gated_node(document, self.types)) is not None:
                self.catalog.refuse(document["id"], gate)
                self._fixtures.append(document["id"])

    async def register_fixture(self, document: dict[str, Any]) -> None:
        """Register a conformance workflow and advertise it, unless the host lacks a capability that it needs."""
        if find_gated_node(document, self.types) is not None:
            return
        violations = await self.catalog.register(document)
        assert not violations, f"{document['id']}: {violations}"
        self._fixtures.append(document["id"])

    def build(self) -> App:
        """Build the ASGI application. Its discovery document lists the fixtures that are registered by then."""
        settings = self.settings
        # Discovery promises a client that reaches public addresses only, so a host that allows more omits it.
        fetch = None if settings.allow_private_network else settings.fetch_limits()
        fixtures = tuple(self._fixtures)
        offer = HostOffer(
            self.version,
            settings.limits(),
            fixtures,
            test_seams=settings.test_seams,
            fetch=fetch,
            node_types=frozenset(self.types),
            tokens=any(route.path.startswith(INTERRUPT_TOKEN_PREFIX) for route in ROUTES),
            host_id=host_id(settings.public_url),
            envelopes=self.kinds.advertised,
            subset_compliance=check_kind_schemas(self.kinds),
            providers=self.models.names,
            modalities=self.models.input_modalities,
            models=self.model_catalogue,
            prompts=prompt_family(len(self._templates)),
            bundles=True,
            fork_modes=FORK_MODES,
        )
        handlers = self._handlers(offer)
        limits, largest = settings.limits(), settings.max_request_body_bytes
        # With a limit below the size of one body, that body would never be accepted.
        body_memory = BodyMemory(
            max(limits.max_body_bytes_in_memory, largest),
            max(limits.max_body_bytes_in_memory_per_key, largest),
            limits.reserved_share_percent,
        )
        turns = RequestTurns(self._loop_share.turn)
        self._loop_share.is_serving = turns.is_serving
        self.app = App(
            self.keyring,
            self._ids,
            handlers,
            largest,
            body_memory,
            turns,
            settings.served_hosts(),
            frozenset(settings.embed_origins),
        )
        return self.app

    def _handlers(self, offer: HostOffer) -> dict[str, Handler]:
        bodies = SharedBodies()
        snapshots = SnapshotCache(self.service, self._interrupts, bodies)
        runs = RunRoutes(
            self.service,
            self._interrupts,
            self._retention,
            self._control,
            self._run_tree,
            snapshots,
            self._look_back,
        )
        keepalive = self.settings.keepalive_seconds
        events = EventRoutes(self.service, self._streams, self.keyring, keepalive, snapshots, bodies)
        declarations = declarations_by_type(self.types)
        states = partial(self._changes.component_states, self.replaced)
        host_info = HostInfoRoutes(
            self.service, lambda: self.draining, lambda: self.recovery, states, self.kinds, declarations
        )
        review = ReviewRoutes(self._annotations, self._comparison)
        workflows = WorkflowRoutes(self._workflows)
        surfaces = SurfaceRoutes(self._surfaces, self._interrupts)
        interrupts = InterruptRoutes(self._interrupts, self._answer_pages, self._site)
        organisation = OrganisationRoutes(self._logo)
        forks = ForkRoutes(self._forks, self._retries)
        bundle = BundleRoutes(self._bundles)
        assets = AssetRoutes(self._tenant_assets, self.settings.limits(), self.settings.media_reach)
        routes = tuple(route for route in ROUTES if self.settings.test_seams or not route.test_only)
        all_handlers: dict[str, Handler] = {
            "getCapabilities": StaticDocument(discovery_document(offer), b"capabilities-etag").serve,
            "getOpenApiSpec": StaticDocument(openapi(routes, self.version)).serve,
            "getHealth": host_info.health,
            "getReadiness": host_info.readiness,
            "getWorkflow": workflows.get_workflow,
            "listWorkflows": workflows.list_workflows,
            "registerWorkflow": workflows.register_workflow,
            "listNodeTypes": host_info.list_node_types,
            "getNodeType": host_info.get_node_type,
            "getSchema": host_info.wire_schema,
            "getEnvelopeSchema": host_info.envelope_schema,
            "createRun": runs.create_run,
            "listRuns": runs.list_runs,
            "getRun": runs.get_run,
            "cancelRun": runs.cancel_run,
            "pauseRun": runs.pause_run,
            "resumeRun": runs.resume_run,
            "listRunInterrupts": interrupts.list_for_run,
            "listInterrupts": interrupts.list_interrupts,
            "resolveInterruptByRun": interrupts.resolve,
            "resolveApproval": interrupts.resolve_approval,
            "createInterruptLink": interrupts.create_link,
            "inspectInterruptByToken": interrupts.inspect,
            "resolveInterruptByToken": interrupts.resolve_by_token,
            "getSurface": surfaces.get,
            "actOnSurface": surfaces.act,
            "getSurfaceByToken": surfaces.get_by_token,
            "actOnSurfaceByToken": surfaces.act_by_token,
            "getOrganisationLogo": organisation.logo,
            "forkRun": forks.fork_run,
            "retryRun": forks.retry_run,
            "getArtifact": runs.get_artifact,
            "bulkCancelRuns": runs.bulk_cancel,
            "deleteRun": runs.delete_run,
            "streamRunEvents": events.stream,
            "pollRunEvents": events.poll,
            "getDebugBundle": bundle.get_bundle,
            "createAnnotation": review.create_annotation,
            "listAnnotations": review.list_annotations,
            "importRun": ImportRoutes(self._imports).import_run,
            "diffRun": review.diff_run,
            "diffRunOutcome": review.diff_outcome,
            "getRunAncestry": runs.ancestry,
            "getRunTree": runs.tree,
            "uploadAsset": assets.upload,
            "listAssets": assets.list_assets,
            "getAsset": assets.serve,
            "getSampleAsset": assets.serve,
            "getSurfaceModule": SurfaceModuleRoute().serve,
        }
        if self.settings.test_seams:
            from weftwork.conformance.test_endpoints import endpoint_handlers
            from weftwork.engine.api.models import ModelInput

            limits = self.settings.limits()
            all_handlers |= endpoint_handlers(
                clock=self._clock,
                ids=self._ids,
                log=self._store.log,
                kinds=self.kinds,
                player=self.script_player,
                model_input=ModelInput(self.models, self.assets, self.outbound, limits.max_bytes_per_part),
                assets=self._tenant_assets,
                runs=self.service,
                control=self._control,
                workflows=self._workflows,
                bundles=self._bundles,
                outbound=self.outbound,
                templates=self._templates,
                models=self.model_catalogue,
                declarations=declarations,
                event_stream=events.stream,
            )
        return {route.operation_id: all_handlers[route.operation_id] for route in routes}

    def drain(self) -> None:
        """Stop accepting new work: the host reports that it is not ready, and every stream ends."""
        self.draining = True
        self._feeds.close()

    async def close(self, on_waiting: Callable[[Sequence[OpenEffect]], None] | None = None) -> list[ClosedEffect]:
        """Stop executing runs, which the next start resumes from their logs, and close the store.

        If effects are in progress, `on_waiting` is called with them before the host waits for them. Returns what
        became of them.
        """
        self.drain()
        await self._sweeper.stop()
        self._retention.close()
        await self._changes.close()
        if self._admin is not None:
            await self._admin.stop()
        effects = await self._executor.close(on_waiting)
        await self._expression_workers.close()
        if self.model_server is not None:
            await self.model_server.close()
        for client in (self.outbound, *self._provider_clients):
            await client.close()
        self._library.stop()
        fault_point("drain.close")
        self._end_watch()
        await self._store.election.release()
        await self.blobs.close()
        await self._store.close()
        self.watchdog.stop()
        self._lock.release()
        return effects

    def report_effects(self) -> list[ClosedEffect]:
        """What has become of the effects that `close` waits for, if the process exits without the end of the wait."""
        return self._executor.report_effects()
