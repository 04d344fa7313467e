//! The invariants of the stored tree (design § 3), checked over the whole file for `doctor --check`.
//!
//! Each check is a query for the rows that break it. Nothing is repaired here.

use sqlx::SqlitePool;

use crate::{artifacts, fault::Outcome, heads, inbox, messages};

/// Something in the store that should not be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The invariant that is broken, as a sentence.
    pub check: &'static str,
    /// The row that breaks it.
    pub subject: String,
}

/// What must hold, and the rows for which it does not.
const CHECKS: [(&str, &str); 13] = [
    (
        "a parent is in the same conversation, one less deep",
        "SELECT 'message ' || m.id FROM messages m LEFT JOIN messages p ON p.id = m.parent_id
         WHERE m.parent_id IS NOT NULL
         AND (p.conversation_id IS NOT m.conversation_id OR p.depth IS NOT m.depth - 1)",
    ),
    (
        "a message belongs to a turn of its conversation",
        "SELECT 'message ' || m.id FROM messages m LEFT JOIN turns t ON t.id = m.turn_id
         WHERE t.conversation_id IS NOT m.conversation_id",
    ),
    (
        "roles alternate along a branch, announcements and steering aside",
        "SELECT 'message ' || m.id FROM messages m JOIN messages p ON p.id = m.parent_id
         WHERE m.role = p.role AND m.kind NOT IN ('announcement', 'steer')
         AND p.kind NOT IN ('announcement', 'steer')",
    ),
    (
        "a branch begins with a question or an announcement",
        "SELECT 'message ' || id FROM messages
         WHERE parent_id IS NULL AND kind NOT IN ('question', 'announcement')",
    ),
    (
        "the tip is a message of its conversation",
        "SELECT 'conversation ' || c.id FROM conversations c LEFT JOIN messages m ON m.id = c.tip_id
         WHERE c.tip_id IS NOT NULL AND m.conversation_id IS NOT c.id",
    ),
    (
        "at rest the tip is an assistant message without calls",
        "SELECT 'conversation ' || c.id FROM conversations c JOIN messages m ON m.id = c.tip_id
         WHERE m.kind NOT IN ('answer', 'closing')
         AND NOT EXISTS (SELECT 1 FROM turns t WHERE t.conversation_id = c.id AND t.state <> 'over')",
    ),
    (
        "each call of an ended turn has its one result in the message after it",
        "SELECT 'message ' || m.id FROM messages m JOIN turns t ON t.id = m.turn_id,
             json_each(m.blocks, '$.blocks') c
         WHERE m.kind = 'call' AND t.state = 'over' AND c.value ->> 't' IN ('call', 'tool_call')
         AND 1 <> (SELECT count(*) FROM messages r, json_each(r.blocks, '$.blocks') b
                   WHERE r.parent_id = m.id AND r.kind = 'results'
                   AND b.value ->> 't' = 'tool_result' AND b.value ->> 'id' = c.value ->> 'id')",
    ),
    (
        "a turn is over when it has an outcome and an end",
        "SELECT 'turn ' || id FROM turns
         WHERE (state = 'over') <> (outcome IS NOT NULL) OR (state = 'over') <> (ended_at IS NOT NULL)",
    ),
    (
        "a turn that has begun has its question",
        "SELECT 'turn ' || t.id FROM turns t LEFT JOIN messages m ON m.id = t.question_id
         WHERE t.state <> 'queued'
         AND (m.conversation_id IS NOT t.conversation_id OR m.kind IS NOT 'question')",
    ),
    (
        "every version of a conversation is written down, and the last one is what is shown",
        "SELECT 'conversation ' || c.id FROM conversations c
         WHERE c.version <> (SELECT count(*) FROM versions v WHERE v.conversation_id = c.id)
         OR (c.version > 0 AND NOT EXISTS (
             SELECT 1 FROM versions v
             WHERE v.conversation_id = c.id AND v.version = c.version AND v.tip_id IS c.tip_id))",
    ),
    (
        "a message of an inbox was delivered by a message of its turn, unless the turn still runs",
        "SELECT 'turn ' || i.turn_id || ', inbox ' || i.ordinal
         FROM inbox i JOIN turns t ON t.id = i.turn_id LEFT JOIN messages m ON m.id = i.message_id
         WHERE (i.message_id IS NOT NULL AND (m.turn_id IS NOT i.turn_id OR m.kind <> 'steer'))
         OR (i.message_id IS NULL AND t.state = 'over')",
    ),
    (
        "a blob is referred to by something of its principal",
        "SELECT 'blob ' || lower(hex(b.sha256)) FROM blobs b
         WHERE NOT EXISTS (
             SELECT 1 FROM artifacts f JOIN conversations c ON c.id = f.conversation_id
             WHERE f.sha256 = b.sha256 AND c.principal = b.principal)
         AND NOT EXISTS (
             SELECT 1 FROM attachments a JOIN messages m ON m.id = a.message_id
             JOIN conversations c ON c.id = m.conversation_id
             WHERE b.sha256 IN (a.sha256, a.text_sha256) AND c.principal = b.principal)",
    ),
    (
        "a running turn has a lease",
        "SELECT 'turn ' || t.id FROM turns t LEFT JOIN leases l ON l.conversation_id = t.conversation_id
         WHERE t.state = 'running' AND (l.fence IS NULL OR l.fence < t.fence)",
    ),
];

pub(crate) async fn check(pool: &SqlitePool) -> Outcome<Vec<Finding>> {
    let mut findings = file(pool).await?;
    for (check, unreadable) in [
        ("every message can be read", messages::unreadable(pool).await?),
        ("every message of an inbox can be read", inbox::unreadable(pool).await?),
        ("every head can be read", heads::unreadable(pool).await?),
        ("every artifact can be read", artifacts::unreadable(pool).await?),
    ] {
        findings.extend(unreadable.into_iter().map(|subject| Finding { check, subject }));
    }
    if !findings.is_empty() {
        // What cannot be read cannot be queried either; these come first.
        return Ok(findings);
    }
    for (check, query) in CHECKS {
        let subjects: Vec<String> = sqlx::query_scalar(query).fetch_all(pool).await?;
        findings.extend(subjects.into_iter().map(|subject| Finding { check, subject }));
    }
    Ok(findings)
}

/// What SQLite itself finds wrong with the file.
async fn file(pool: &SqlitePool) -> Outcome<Vec<Finding>> {
    let mut findings = Vec::new();
    let lines: Vec<String> = sqlx::query_scalar("PRAGMA integrity_check").fetch_all(pool).await?;
    let broken = lines.into_iter().filter(|line| line != "ok");
    findings.extend(broken.map(|subject| Finding { check: "the file is whole", subject }));
    let orphans: Vec<(String, Option<i64>)> =
        sqlx::query_as("SELECT \"table\", rowid FROM pragma_foreign_key_check").fetch_all(pool).await?;
    findings.extend(orphans.into_iter().map(|(table, row)| Finding {
        check: "what a row refers to exists",
        subject: format!("{table} {}", row.unwrap_or_default()),
    }));
    Ok(findings)
}
