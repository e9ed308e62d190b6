-- On the events of an interrupt, whose payloads have no room for its identity.
ALTER TABLE events ADD COLUMN interrupt_id TEXT;
