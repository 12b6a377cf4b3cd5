-- Without a default: a worker of an earlier program that outlives the upgrade adds no host.
ALTER TABLE hosts ALTER COLUMN domain SET NOT NULL;
CREATE INDEX hosts_free_domain ON hosts (domain, id) WHERE active AND owner IS NULL;
CREATE INDEX hosts_owned_domain ON hosts (domain, owner) WHERE owner IS NOT NULL;
DROP INDEX IF EXISTS hosts_owner;
CREATE INDEX hosts_owner ON hosts (owner, domain, id) WHERE owner IS NOT NULL;
