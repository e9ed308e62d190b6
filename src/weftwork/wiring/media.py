"""The media of a host: where bytes are kept, what is known of them, and the routes they come and go by."""

from weftwork.adapters.http.app import Handler
from weftwork.adapters.http.routes.assets import AssetRoutes
from weftwork.engine.api.assets import TenantAssets
from weftwork.engine.media.asset_sweep import AssetSweep
from weftwork.engine.media.assets import Assets
from weftwork.engine.signer import Signer
from weftwork.ports.clock import Clock
from weftwork.ports.ids import Ids
from weftwork.ports.storage.assets import AssetIndex
from weftwork.protocol.media.asset_headers import ResourcePolicy
from weftwork.protocol.wire.v1.assets import ASSET_PREFIXES
from weftwork.settings import Settings
from weftwork.wiring.blob_store import build_blobs


class MediaWiring:
    """`blobs` is opened and closed with the store. Raises SettingsError for bytes that cannot be kept anywhere."""

    def __init__(self, settings: Settings, rows: AssetIndex, signer: Signer, clock: Clock, ids: Ids) -> None:
        self._limits = settings.limits()
        self._reach: ResourcePolicy = settings.media_reach
        self.blobs = build_blobs(settings, clock, ids)
        self.assets = Assets(
            rows, self.blobs, signer, clock, self._limits, settings.media_base(), prefixes=ASSET_PREFIXES
        )
        self.tenant_assets = TenantAssets(self.assets, clock, self._limits)
        self.sweep = AssetSweep(rows, self.blobs, clock, self.assets.unconfirmed_keys)

    def handlers(self) -> dict[str, Handler]:
        """By their operations."""
        routes = AssetRoutes(self.tenant_assets, self._limits, self._reach)
        return {
            "uploadAsset": routes.upload,
            "listAssets": routes.list_assets,
            "getAsset": routes.serve,
            "getSampleAsset": routes.serve,
        }
