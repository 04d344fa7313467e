-- The append-only message tree and what surrounds it (design § 3).
--
-- Times are UTC milliseconds, uids 16 bytes, JSON columns the versioned forms of colloquy::record.
-- Large columns stand last: what walks the tree then never reads their overflow pages.
-- A foreign key is declared where its column is indexed; the other references (tip_id, base_id,
-- question_id, and those of rows that are only ever written along with what they name) would
-- scan a table for every message that a deletion removes, and are checked by `doctor --check`.

CREATE TABLE principals (
    principal TEXT PRIMARY KEY,
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE user_settings (
    principal TEXT PRIMARY KEY,
    updated_at INTEGER NOT NULL,
    settings TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE llms (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    principal TEXT NOT NULL,
    name TEXT NOT NULL,
    engine TEXT NOT NULL,
    path TEXT,
    base_url TEXT,
    model TEXT,
    api_key_env TEXT,
    context_window INTEGER,
    param_size REAL,
    size_bytes INTEGER,
    is_default INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    generation_config TEXT,
    UNIQUE (principal, name)
) STRICT;
CREATE UNIQUE INDEX llms_default ON llms (principal) WHERE is_default = 1;

CREATE TABLE conversations (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    uid BLOB NOT NULL UNIQUE CHECK (length(uid) = 16),
    principal TEXT NOT NULL,
    llm_id INTEGER REFERENCES llms (id) ON DELETE SET NULL,
    tip_id INTEGER,
    version INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    last_message_at INTEGER NOT NULL,
    name TEXT NOT NULL,
    settings TEXT NOT NULL
) STRICT;
CREATE INDEX conversations_principal ON conversations (principal, id);
CREATE INDEX conversations_llm ON conversations (llm_id);

CREATE TABLE conversation_heads (
    conversation_id INTEGER PRIMARY KEY REFERENCES conversations (id),
    seat TEXT NOT NULL,
    objective TEXT NOT NULL,
    palette TEXT NOT NULL
) STRICT;

CREATE TABLE versions (
    conversation_id INTEGER NOT NULL REFERENCES conversations (id),
    version INTEGER NOT NULL,
    tip_id INTEGER,
    cause TEXT NOT NULL
        CHECK (cause IN ('turn', 'edit', 'regenerate', 'switch', 'compact', 'undo', 'delete', 'import')),
    turn_id INTEGER,
    compaction_id INTEGER,
    at INTEGER NOT NULL,
    PRIMARY KEY (conversation_id, version)
) STRICT, WITHOUT ROWID;

CREATE TABLE turns (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    uid BLOB NOT NULL UNIQUE CHECK (length(uid) = 16),
    conversation_id INTEGER NOT NULL REFERENCES conversations (id),
    base_id INTEGER,
    question_id INTEGER,
    state TEXT NOT NULL CHECK (state IN ('queued', 'running', 'over')),
    fence INTEGER NOT NULL,
    llm_id INTEGER,
    outcome TEXT,
    last_seq INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    started_at INTEGER,
    ended_at INTEGER,
    idempotency_key TEXT,
    request_hash BLOB,
    error TEXT,
    notices TEXT,
    request TEXT NOT NULL
) STRICT;
CREATE INDEX turns_conversation ON turns (conversation_id);
CREATE UNIQUE INDEX turns_running ON turns (conversation_id) WHERE state = 'running';
CREATE UNIQUE INDEX turns_idempotency ON turns (conversation_id, idempotency_key)
    WHERE idempotency_key IS NOT NULL;
-- Recovery asks for these at every start; the index holds only the handful that are not over.
CREATE INDEX turns_open ON turns (state) WHERE state <> 'over';

CREATE TABLE messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    uid BLOB NOT NULL UNIQUE CHECK (length(uid) = 16),
    conversation_id INTEGER NOT NULL REFERENCES conversations (id),
    -- Deferred and without a cascade: SQLite gives up on a cascade 1,000 rows deep.
    parent_id INTEGER REFERENCES messages (id) DEFERRABLE INITIALLY DEFERRED,
    depth INTEGER NOT NULL CHECK ((depth = 0) = (parent_id IS NULL)),
    turn_id INTEGER NOT NULL REFERENCES turns (id),
    step INTEGER NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('user', 'assistant')),
    kind TEXT NOT NULL,
    app_authored INTEGER NOT NULL,
    compactable INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    redacted_at INTEGER,
    origin TEXT,
    usage TEXT,
    blocks TEXT NOT NULL
) STRICT;
CREATE INDEX messages_depth ON messages (conversation_id, depth);
CREATE INDEX messages_parent ON messages (parent_id);
CREATE INDEX messages_turn ON messages (turn_id);

CREATE TABLE turn_events (
    turn_id INTEGER NOT NULL REFERENCES turns (id),
    first_seq INTEGER NOT NULL,
    last_seq INTEGER NOT NULL,
    lines TEXT NOT NULL,
    PRIMARY KEY (turn_id, first_seq)
) STRICT;

CREATE TABLE tool_runs (
    turn_id INTEGER NOT NULL REFERENCES turns (id),
    step INTEGER NOT NULL,
    call_id TEXT NOT NULL,
    name TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('started', 'finished', 'interrupted')),
    is_error INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    finished_at INTEGER,
    input TEXT NOT NULL,
    result TEXT,
    PRIMARY KEY (turn_id, step, call_id)
) STRICT;

CREATE TABLE inbox (
    turn_id INTEGER NOT NULL REFERENCES turns (id),
    ordinal INTEGER NOT NULL,
    message_id INTEGER,
    blocks TEXT NOT NULL,
    PRIMARY KEY (turn_id, ordinal)
) STRICT;

CREATE TABLE leases (
    conversation_id INTEGER PRIMARY KEY REFERENCES conversations (id),
    holder BLOB NOT NULL CHECK (length(holder) = 16),
    fence INTEGER NOT NULL,
    -- 0 once it was given back; the row and its fence stay.
    expires_at INTEGER NOT NULL
) STRICT;

CREATE TABLE compactions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    uid BLOB NOT NULL UNIQUE CHECK (length(uid) = 16),
    conversation_id INTEGER NOT NULL REFERENCES conversations (id),
    turn_id INTEGER,
    step INTEGER,
    boundary_id INTEGER NOT NULL REFERENCES messages (id),
    base_id INTEGER REFERENCES compactions (id),
    strategy TEXT NOT NULL
        CHECK (strategy IN ('rolling', 'light', 'moderate', 'aggressive', 'maximum', 'placeholder')),
    lost INTEGER NOT NULL,
    reason TEXT NOT NULL CHECK (reason IN ('window', 'memory', 'asked', 'overflow')),
    n_messages INTEGER NOT NULL,
    tokens_before INTEGER NOT NULL,
    tokens_after INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    undone_at INTEGER,
    spans TEXT NOT NULL
) STRICT;
CREATE INDEX compactions_conversation ON compactions (conversation_id);
CREATE INDEX compactions_boundary ON compactions (boundary_id);
CREATE INDEX compactions_base ON compactions (base_id);

CREATE TABLE stars (
    message_id INTEGER PRIMARY KEY REFERENCES messages (id),
    starred_at INTEGER NOT NULL
) STRICT;

CREATE TABLE blobs (
    principal TEXT NOT NULL,
    sha256 BLOB NOT NULL CHECK (length(sha256) = 32),
    media_type TEXT NOT NULL,
    n_bytes INTEGER NOT NULL,
    bytes BLOB NOT NULL,
    PRIMARY KEY (principal, sha256)
) STRICT;

CREATE TABLE attachments (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    message_id INTEGER NOT NULL REFERENCES messages (id),
    ordinal INTEGER NOT NULL,
    sha256 BLOB NOT NULL,
    text_sha256 BLOB,
    name TEXT NOT NULL,
    path TEXT,
    modified_at INTEGER,
    note TEXT,
    removed_at INTEGER
) STRICT;
CREATE INDEX attachments_message ON attachments (message_id, ordinal);
CREATE INDEX attachments_sha256 ON attachments (sha256);
CREATE INDEX attachments_text_sha256 ON attachments (text_sha256) WHERE text_sha256 IS NOT NULL;

CREATE TABLE artifacts (
    conversation_id INTEGER NOT NULL REFERENCES conversations (id),
    ref TEXT NOT NULL,
    alias TEXT,
    sha256 BLOB NOT NULL,
    top_level INTEGER NOT NULL,
    summaries TEXT NOT NULL,
    PRIMARY KEY (conversation_id, ref)
) STRICT;
CREATE INDEX artifacts_sha256 ON artifacts (sha256);

CREATE TABLE jobs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    principal TEXT NOT NULL,
    kind TEXT NOT NULL,
    state TEXT NOT NULL,
    due_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    payload TEXT NOT NULL
) STRICT;

PRAGMA user_version = 1;
