-- The table `bands` also finds a text by its page and by its content: an entry for the first eight bytes of each, as a number.
-- Random rows of two indexes cost more than all other writes of a text.
INSERT OR IGNORE INTO bands (hash, place) SELECT
    (instr('123456789ABCDEF', substr(hex(page), 1, 1)) << 60) | (instr('123456789ABCDEF', substr(hex(page), 2, 1)) << 56) |
    (instr('123456789ABCDEF', substr(hex(page), 3, 1)) << 52) | (instr('123456789ABCDEF', substr(hex(page), 4, 1)) << 48) |
    (instr('123456789ABCDEF', substr(hex(page), 5, 1)) << 44) | (instr('123456789ABCDEF', substr(hex(page), 6, 1)) << 40) |
    (instr('123456789ABCDEF', substr(hex(page), 7, 1)) << 36) | (instr('123456789ABCDEF', substr(hex(page), 8, 1)) << 32) |
    (instr('123456789ABCDEF', substr(hex(page), 9, 1)) << 28) | (instr('123456789ABCDEF', substr(hex(page), 10, 1)) << 24) |
    (instr('123456789ABCDEF', substr(hex(page), 11, 1)) << 20) | (instr('123456789ABCDEF', substr(hex(page), 12, 1)) << 16) |
    (instr('123456789ABCDEF', substr(hex(page), 13, 1)) << 12) | (instr('123456789ABCDEF', substr(hex(page), 14, 1)) << 8) |
    (instr('123456789ABCDEF', substr(hex(page), 15, 1)) << 4) | (instr('123456789ABCDEF', substr(hex(page), 16, 1))), place FROM texts ORDER BY 1;
INSERT OR IGNORE INTO bands (hash, place) SELECT
    (instr('123456789ABCDEF', substr(hex(content), 1, 1)) << 60) | (instr('123456789ABCDEF', substr(hex(content), 2, 1)) << 56) |
    (instr('123456789ABCDEF', substr(hex(content), 3, 1)) << 52) | (instr('123456789ABCDEF', substr(hex(content), 4, 1)) << 48) |
    (instr('123456789ABCDEF', substr(hex(content), 5, 1)) << 44) | (instr('123456789ABCDEF', substr(hex(content), 6, 1)) << 40) |
    (instr('123456789ABCDEF', substr(hex(content), 7, 1)) << 36) | (instr('123456789ABCDEF', substr(hex(content), 8, 1)) << 32) |
    (instr('123456789ABCDEF', substr(hex(content), 9, 1)) << 28) | (instr('123456789ABCDEF', substr(hex(content), 10, 1)) << 24) |
    (instr('123456789ABCDEF', substr(hex(content), 11, 1)) << 20) | (instr('123456789ABCDEF', substr(hex(content), 12, 1)) << 16) |
    (instr('123456789ABCDEF', substr(hex(content), 13, 1)) << 12) | (instr('123456789ABCDEF', substr(hex(content), 14, 1)) << 8) |
    (instr('123456789ABCDEF', substr(hex(content), 15, 1)) << 4) | (instr('123456789ABCDEF', substr(hex(content), 16, 1))), place FROM texts WHERE content IS NOT NULL ORDER BY 1;
DROP INDEX texts_page;
DROP INDEX texts_content;
