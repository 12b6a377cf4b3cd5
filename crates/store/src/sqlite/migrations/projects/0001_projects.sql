-- Times are milliseconds since the Unix epoch. Identities of projects are UUIDs as text, those of sources the 32 hex digits
-- that are the id of their record.

CREATE TABLE projects (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL UNIQUE,
    created_at INTEGER NOT NULL
) STRICT;

-- One row a page. id is the hash of url, so that one index makes a URL unique within its project and finds it. revision
-- grows with each change of content. Long columns stand last: whoever reads the others does not go through them.
CREATE TABLE sources (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id TEXT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    id TEXT NOT NULL,
    url TEXT NOT NULL,
    domain TEXT NOT NULL,
    source_group TEXT,
    revision INTEGER NOT NULL DEFAULT 1,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    metadata TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(metadata)),
    content TEXT NOT NULL,
    cleaned_content TEXT,
    CONSTRAINT uq_sources_project_url UNIQUE (project_id, id)
) STRICT;
-- an index ends in the row's number: these two list a project, and a domain of it, in order
CREATE INDEX sources_project ON sources (project_id);
CREATE INDEX sources_domain ON sources (project_id, domain);

-- What the last analysis of a domain found, and with which parameters.
CREATE TABLE domain_boilerplate (
    id TEXT NOT NULL PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    domain TEXT NOT NULL,
    boilerplate_hashes TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(boilerplate_hashes)),
    pages_analyzed INTEGER NOT NULL DEFAULT 0,
    blocks_total INTEGER NOT NULL DEFAULT 0,
    blocks_boilerplate INTEGER NOT NULL DEFAULT 0,
    bytes_removed_avg INTEGER NOT NULL DEFAULT 0,
    threshold_pct REAL NOT NULL DEFAULT 0.7,
    min_pages INTEGER NOT NULL DEFAULT 5,
    min_block_chars INTEGER NOT NULL DEFAULT 50,
    mode TEXT NOT NULL DEFAULT 'exact',
    -- the groups that the analysis was limited to; [] for all
    source_groups TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(source_groups)),
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    CONSTRAINT uq_domain_boilerplate_project_domain UNIQUE (project_id, domain)
) STRICT;
CREATE INDEX domain_boilerplate_domain ON domain_boilerplate (domain);
