"""The bytes of assets: in memory, in a folder, in object storage."""
