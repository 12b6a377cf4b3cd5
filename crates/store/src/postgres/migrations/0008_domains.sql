-- Hash of the registrable domain of a host, or of its name without one: hosts of a domain go to one worker where possible. The
-- program fills it.
ALTER TABLE hosts ADD COLUMN domain bigint;
