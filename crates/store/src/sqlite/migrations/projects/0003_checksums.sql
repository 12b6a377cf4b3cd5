-- XXH3 of what a page is made of, and of its cleaned text: SQLite itself does not notice a changed byte in a column. NULL for
-- rows of older versions.
ALTER TABLE sources ADD COLUMN checksum INTEGER;
ALTER TABLE sources ADD COLUMN cleaned_checksum INTEGER;
