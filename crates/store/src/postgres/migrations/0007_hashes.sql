-- Hashes of texts and bodies are compared by their first 16 bytes.
UPDATE urls SET text_hash = substring(text_hash FOR 16), body_hash = substring(body_hash FOR 16)
WHERE octet_length(text_hash) > 16 OR octet_length(body_hash) > 16;
