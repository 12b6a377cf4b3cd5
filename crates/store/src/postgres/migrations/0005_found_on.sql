-- The row of the page or sitemap by which a URL entered the frontier; NULL for seeds and in rows from before.
ALTER TABLE urls ADD COLUMN found_on bigint;
ALTER TABLE inbox ADD COLUMN found_on bigint;
