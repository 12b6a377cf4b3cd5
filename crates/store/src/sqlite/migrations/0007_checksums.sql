-- Checksums (XXH3, 64 bits) of blobs whose damage would go unnoticed; NULL in rows from before: those are not checked.
ALTER TABLE held ADD COLUMN checksum INTEGER;
ALTER TABLE so_far ADD COLUMN checksum INTEGER;
ALTER TABLE host_states ADD COLUMN checksum INTEGER;
ALTER TABLE lessons ADD COLUMN checksum INTEGER;
ALTER TABLE robots ADD COLUMN checksum INTEGER;

-- URLs of this round whose held page could not be read and that were therefore put back to be fetched again.
CREATE TABLE refetched (id INTEGER PRIMARY KEY);

-- Fingerprints of hosts that are not settled, and the pages that wait for them, in this round. Made again from the table
-- `held` where a row is missing.
CREATE TABLE unsettled (host INTEGER PRIMARY KEY, state BLOB NOT NULL, checksum INTEGER);
