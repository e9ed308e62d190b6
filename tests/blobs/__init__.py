"""The bytes of assets: one contract for every store, and what each of them has to withstand."""
