-- Bytes of tenants, which are kept elsewhere under `key`; asset_no is the order of creation. `refs` is how many runs
-- refer to one.
CREATE TABLE assets (
  asset_no INTEGER PRIMARY KEY,
  partition TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  key TEXT NOT NULL,
  size INTEGER NOT NULL,
  media_type TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  held_until INTEGER NOT NULL,
  refs INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX assets_by_digest ON assets (partition, sha256);
CREATE UNIQUE INDEX assets_by_key ON assets (key);
CREATE INDEX assets_by_age ON assets (partition);
-- Where a page goes on when the asset that the one before ended with is gone.
CREATE INDEX assets_by_time ON assets (partition, created_at);
-- What may go is found without looking at what is referred to.
CREATE INDEX assets_loose ON assets (held_until, size) WHERE refs = 0;

-- Which run refers to which. Gone with the run: whoever deletes one deletes by run_no here, too.
CREATE TABLE asset_refs (
  run_no INTEGER NOT NULL,
  asset_no INTEGER NOT NULL,
  PRIMARY KEY (run_no, asset_no)
) STRICT, WITHOUT ROWID;

-- What a partition has, so that nobody has to count it.
CREATE TABLE asset_usage (
  partition TEXT PRIMARY KEY,
  count INTEGER NOT NULL,
  size INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Keys whose rows are gone and whose bytes are to go.
CREATE TABLE doomed_blobs (
  doom_no INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE
) STRICT;

-- The counts are kept by the file itself: no statement that adds or deletes rows can forget them.
CREATE TRIGGER asset_referred AFTER INSERT ON asset_refs BEGIN
  UPDATE assets SET refs = refs + 1 WHERE asset_no = NEW.asset_no;
END;
CREATE TRIGGER asset_released AFTER DELETE ON asset_refs BEGIN
  UPDATE assets SET refs = refs - 1 WHERE asset_no = OLD.asset_no;
END;
CREATE TRIGGER asset_kept AFTER INSERT ON assets BEGIN
  INSERT INTO asset_usage (partition, count, size) VALUES (NEW.partition, 1, NEW.size)
  ON CONFLICT (partition) DO UPDATE SET count = count + 1, size = size + excluded.size;
END;
CREATE TRIGGER asset_dropped AFTER DELETE ON assets BEGIN
  UPDATE asset_usage SET count = count - 1, size = size - OLD.size WHERE partition = OLD.partition;
END;
