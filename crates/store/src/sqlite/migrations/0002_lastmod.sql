-- What the sitemap said of a page when it was last fetched; sitemap_lastmod is what it says in this round.
ALTER TABLE urls ADD COLUMN fetched_lastmod TEXT;
