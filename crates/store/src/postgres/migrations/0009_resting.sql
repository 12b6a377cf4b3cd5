-- Hosts without an owner that rest leave the indexes of free hosts, so a search does not walk over them. A worker removes not_before
-- once it has passed.
DROP INDEX IF EXISTS hosts_free;
CREATE INDEX hosts_free ON hosts (id) WHERE active AND owner IS NULL AND not_before IS NULL;
DROP INDEX hosts_free_domain;
CREATE INDEX hosts_free_domain ON hosts (domain, id) WHERE active AND owner IS NULL AND not_before IS NULL;
CREATE INDEX hosts_resting ON hosts (not_before) WHERE owner IS NULL AND not_before IS NOT NULL;
-- Public Suffix List by which hosts.domain was computed.
ALTER TABLE crawls ADD COLUMN suffixes bigint NOT NULL DEFAULT 0;
