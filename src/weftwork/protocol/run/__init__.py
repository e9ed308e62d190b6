"""The stored records of a run: header, events, interrupts, effects, child runs, projection and batch."""
