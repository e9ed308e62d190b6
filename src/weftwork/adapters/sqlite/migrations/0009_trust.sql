-- Whether what an event carries came from outside; NULL of almost all events, which then takes no room.
ALTER TABLE events ADD COLUMN content_trust TEXT;
