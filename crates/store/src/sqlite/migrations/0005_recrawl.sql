-- What a visit teaches beyond what it taught before: hashes of the text and of the body, what the body was read by, how the
-- page was had, when the body was fetched that the hashes are of, and when the page was last there.
ALTER TABLE urls ADD COLUMN text_hash BLOB;
ALTER TABLE urls ADD COLUMN body_hash BLOB;
ALTER TABLE urls ADD COLUMN rules INTEGER;
ALTER TABLE urls ADD COLUMN via INTEGER;
ALTER TABLE urls ADD COLUMN read_at INTEGER;
ALTER TABLE urls ADD COLUMN seen_at INTEGER;
-- The first visit, the last change, and the visits after the first with those of them that found a change.
ALTER TABLE urls ADD COLUMN first_at INTEGER;
ALTER TABLE urls ADD COLUMN changed_at INTEGER;
ALTER TABLE urls ADD COLUMN visits INTEGER NOT NULL DEFAULT 0;
ALTER TABLE urls ADD COLUMN changes INTEGER NOT NULL DEFAULT 0;
UPDATE urls SET first_at = fetched_at, changed_at = fetched_at;
UPDATE urls SET read_at = fetched_at, seen_at = fetched_at WHERE content_hash IS NOT NULL;

-- Whether URLs of earlier rounds rest in this one, and the two outcomes that a page of an earlier round can have.
INSERT INTO numbers VALUES ('recrawl', 0), ('unchanged', 0), ('gone', 0);

-- States of fingerprints are kept beyond their round.
ALTER TABLE host_states ADD COLUMN round INTEGER NOT NULL DEFAULT 0;
UPDATE host_states SET round = (SELECT value FROM numbers WHERE name = 'round');
