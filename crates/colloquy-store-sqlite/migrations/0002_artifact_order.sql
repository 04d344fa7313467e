-- Artifacts are shown in the order in which they were registered, which nothing told until now.
-- Rows that are there keep the order in which they were inserted.

ALTER TABLE artifacts ADD COLUMN ordinal INTEGER NOT NULL DEFAULT 0;
UPDATE artifacts SET ordinal = (
    SELECT count(*) FROM artifacts earlier
    WHERE earlier.conversation_id = artifacts.conversation_id AND earlier.rowid < artifacts.rowid);
CREATE UNIQUE INDEX artifacts_ordinal ON artifacts (conversation_id, ordinal);

PRAGMA user_version = 2;
