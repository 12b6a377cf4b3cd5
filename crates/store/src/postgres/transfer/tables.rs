//! Tables that a copy carries from one database to the other, row by row.
//!
//! A copy leaves out results of other strategies and states of unsettled hosts: their pages are fetched again. It leaves
//! out leases too, which end with their process.

use tokio_postgres::types::Type;

/// Type of a column in both databases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Small,
    Int,
    Big,
    Text,
    Bytes,
    /// Key of a URL: 16 bytes, and a `uuid`.
    Key,
    /// Key of a URL, which SQLite has as the URL alone.
    KeyOfUrl,
    /// Number of the domain of a host, which SQLite has as the name of the host alone.
    DomainOfHost,
    Bool,
    /// Hashes of bands: bytes, and an array.
    Bands,
    /// A text of SQLite that is bytes in PostgreSQL, since it may hold the character 0.
    TextAsBytes,
    /// Checksum of the column before it, in SQLite alone.
    Checksum,
}

impl Kind {
    pub(super) const fn pg_type(self) -> Type {
        match self {
            Self::Small => Type::INT2,
            Self::Int => Type::INT4,
            Self::Big | Self::DomainOfHost | Self::Checksum => Type::INT8,
            Self::Text => Type::TEXT,
            Self::Bytes | Self::TextAsBytes => Type::BYTEA,
            Self::Key | Self::KeyOfUrl => Type::UUID,
            Self::Bool => Type::BOOL,
            Self::Bands => Type::INT8_ARRAY,
        }
    }
}

/// Rows of one table of PostgreSQL, read from SQLite.
pub(super) struct Import {
    pub(super) table: &'static str,
    /// Columns of PostgreSQL, in the order of `kinds` without checksums.
    pub(super) columns: &'static str,
    pub(super) kinds: &'static [Kind],
    /// Column that names a row in errors, and its place.
    pub(super) key: (&'static str, usize),
    /// Query of SQLite.
    pub(super) select: &'static str,
}

/// Rows of one table of SQLite, read from PostgreSQL.
pub(super) struct Export {
    pub(super) table: &'static str,
    pub(super) kinds: &'static [Kind],
    /// Column that names a row in errors, and its place.
    pub(super) key: (&'static str, usize),
    /// Query of PostgreSQL.
    pub(super) select: &'static str,
    /// Statement of SQLite, with a value for each column.
    pub(super) insert: &'static str,
}

use Kind::{Bands, Big, Bool, Bytes, Checksum, DomainOfHost, Int, Key, KeyOfUrl, Small, Text, TextAsBytes};

const URL_KINDS: &[Kind] = &[
    Big, Big, Big, Big, Big, Big, Big, Int, Int, Int, Int, Int, Int, Small, Small, Small, Int, KeyOfUrl,
    Text, Bytes, Bytes, Bytes, Text, Text, Text, Text, Text, Big,
];

/// A URL in the queue of a taken host is fetched without attempts, if its strategy was not the first.
pub(super) const IMPORTS: &[Import] = &[
    Import {
        table: "hosts",
        columns: "id, name, domain, round, active",
        kinds: &[Int, Text, DomainOfHost, Int, Bool],
        key: ("name", 1),
        select: "SELECT id, name, name, round, id IN (SELECT host FROM queue UNION SELECT host FROM waiting \
                 UNION SELECT host FROM leases UNION SELECT urls.host FROM held JOIN urls ON urls.id = held.id) \
                 FROM hosts",
    },
    Import {
        table: "urls",
        columns: "id, fetched_at, rules, read_at, seen_at, first_at, changed_at, host, round, depth, attempt, \
                  visits, changes, discovery, outcome, via, status, key, url, content_hash, text_hash, body_hash, \
                  etag, last_modified, redirects, sitemap_lastmod, fetched_lastmod, found_on",
        kinds: URL_KINDS,
        key: ("url", 18),
        select: "SELECT id, fetched_at, rules, read_at, seen_at, first_at, changed_at, host, round, depth, \
                 CASE WHEN strategy IS NULL THEN nullif(attempt, 0) END, nullif(visits, 0), nullif(changes, 0), \
                 discovery, outcome, via, status, url, url, content_hash, text_hash, body_hash, etag, \
                 last_modified, redirects, sitemap_lastmod, fetched_lastmod, found_on FROM visited",
    },
    Import {
        table: "queue",
        columns: "id, due, host, depth, lane",
        kinds: &[Big, Big, Int, Int, Small],
        key: ("id", 0),
        select: "SELECT id, due, host, depth, 0 FROM (SELECT id, NULL AS due FROM queue \
                 UNION ALL SELECT id, due FROM waiting UNION ALL SELECT id, NULL FROM leases \
                 UNION ALL SELECT id, NULL FROM held) JOIN urls USING (id)",
    },
    Import {
        table: "refetched",
        columns: "id",
        kinds: &[Big],
        key: ("id", 0),
        select: "SELECT id FROM refetched",
    },
    Import {
        table: "host_states",
        columns: "host, round, state",
        kinds: &[Int, Int, Bytes, Checksum],
        key: ("host", 0),
        select: "SELECT host, round, state, checksum FROM host_states",
    },
    Import {
        table: "lessons",
        columns: "host, lessons",
        kinds: &[Int, Bytes, Checksum],
        key: ("host", 0),
        select: "SELECT host, lessons, checksum FROM lessons",
    },
    Import {
        table: "contents",
        columns: "hash, claimant",
        kinds: &[Bytes, Key],
        key: ("hash", 0),
        select: "SELECT hash, claimant FROM contents",
    },
    Import {
        table: "robots",
        columns: "origin, status, fetched_at, body",
        kinds: &[Text, Int, Big, Bytes, Checksum],
        key: ("origin", 0),
        select: "SELECT origin, status, fetched_at, body, checksum FROM robots",
    },
    Import {
        table: "texts",
        columns: "place, round, page, content, signature, bands, shingles",
        kinds: &[Big, Int, Key, Bytes, Bytes, Bands, Bytes],
        key: ("place", 0),
        select: "SELECT place, round, page, content, signature, bands, shingles FROM texts WHERE space = 0",
    },
];

pub(super) const EXPORTS: &[Export] = &[
    Export {
        table: "hosts",
        kinds: &[Int, Text, Int],
        key: ("name", 1),
        select: "SELECT id, name, round FROM hosts",
        insert: "INSERT INTO hosts (id, name, round) VALUES (?1, ?2, ?3)",
    },
    Export {
        table: "urls",
        kinds: URL_KINDS,
        key: ("url", 18),
        select: "SELECT id, fetched_at, rules, read_at, seen_at, first_at, changed_at, host, round, depth, \
                 CASE WHEN strategy IS NULL THEN coalesce(attempt, 0) ELSE 0 END, coalesce(visits, 0), \
                 coalesce(changes, 0), discovery, outcome, via, status, key, url, content_hash, text_hash, \
                 body_hash, etag, last_modified, redirects, sitemap_lastmod, fetched_lastmod, found_on FROM urls",
        insert: "INSERT INTO copied_urls (id, fetched_at, rules, read_at, seen_at, first_at, changed_at, host, round, depth, \
                 attempt, visits, changes, discovery, outcome, via, status, key, url, content_hash, text_hash, \
                 body_hash, etag, last_modified, redirects, sitemap_lastmod, fetched_lastmod, found_on) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, \
                 ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28)",
    },
    Export {
        table: "queue",
        kinds: &[Int, Int, Big],
        key: ("id", 2),
        select: "SELECT host, depth, id FROM queue WHERE due IS NULL UNION ALL \
                 SELECT u.host, u.depth, u.id FROM held JOIN urls u ON u.host = held.host AND u.id = held.id",
        insert: "INSERT INTO queue (host, lane, depth, id) VALUES (?1, 0, ?2, ?3)",
    },
    Export {
        table: "waiting",
        kinds: &[Big, Big, Int],
        key: ("id", 1),
        select: "SELECT due, id, host FROM queue WHERE due IS NOT NULL",
        insert: "INSERT INTO waiting (due, id, host) VALUES (?1, ?2, ?3)",
    },
    Export {
        table: "refetched",
        kinds: &[Big],
        key: ("id", 0),
        select: "SELECT id FROM refetched",
        insert: "INSERT INTO refetched (id) VALUES (?1)",
    },
    Export {
        table: "host_states",
        kinds: &[Int, Int, Bytes, Checksum],
        key: ("host", 0),
        select: "SELECT host, round, state FROM host_states",
        insert: "INSERT INTO host_states (host, round, state, checksum) VALUES (?1, ?2, ?3, ?4)",
    },
    Export {
        table: "lessons",
        kinds: &[Int, Bytes, Checksum],
        key: ("host", 0),
        select: "SELECT host, lessons FROM lessons",
        insert: "INSERT INTO lessons (host, lessons, checksum) VALUES (?1, ?2, ?3)",
    },
    Export {
        table: "contents",
        kinds: &[Bytes, Key],
        key: ("hash", 0),
        select: "SELECT hash, claimant FROM contents",
        insert: "INSERT INTO contents (hash, claimant) VALUES (?1, ?2)",
    },
    Export {
        table: "robots",
        kinds: &[Text, Int, Big, Bytes, Checksum],
        key: ("origin", 0),
        select: "SELECT origin, status, fetched_at, body FROM robots",
        insert: "INSERT INTO robots (origin, status, fetched_at, body, checksum) VALUES (?1, ?2, ?3, ?4, ?5)",
    },
    Export {
        table: "texts",
        kinds: &[Big, Int, Key, Bytes, Bytes, Bands, Bytes],
        key: ("place", 0),
        select: "SELECT place, round, page, content, signature, bands, shingles FROM texts",
        insert: "INSERT INTO texts (place, space, round, page, content, signature, bands, shingles) \
                 VALUES (?1, 0, ?2, ?3, ?4, ?5, ?6, ?7)",
    },
    Export {
        table: "bands",
        kinds: &[Big, Big],
        key: ("hash", 0),
        select: "SELECT hash, place FROM bands",
        insert: "INSERT INTO bands (hash, place) VALUES (?1, ?2)",
    },
    Export {
        table: "settings",
        kinds: &[Text, TextAsBytes],
        key: ("name", 0),
        select: "SELECT name, value FROM settings WHERE name !~ '^worker [0-9]+ '",
        insert: "INSERT INTO settings (name, value) VALUES (?1, ?2)",
    },
];
