//! Artifacts: their bytes as blobs, shared by the conversations of one principal, and what a
//! conversation knows of each. What stands behind a reference never changes (I11).

use colloquy::{ports::Principal, record};
use colloquy_core::{
    artifact::{Artifact, ArtifactRef},
    message::ConversationId,
};
use futures::TryStreamExt;
use sha2::{Digest, Sha256};
use sqlx::{FromRow, SqliteConnection, SqlitePool};

use crate::{
    SqliteStore,
    fault::{Fault, Outcome},
    stored,
};

const MEDIA_TYPE: &str = "application/json";

#[derive(FromRow)]
struct Row {
    #[sqlx(rename = "ref")]
    reference: String,
    alias: Option<String>,
    summaries: String,
    top_level: bool,
    bytes: Option<Vec<u8>>,
}

/// Stores what a conversation learned of artifacts. One that is there already keeps its place, its
/// type and its bytes; its summaries and its tier become what they are now. The caller has checked
/// the fence. Refuses other bytes under a reference that is there.
pub(crate) async fn save(
    tx: &mut SqliteConnection,
    principal: &Principal,
    id: ConversationId,
    artifacts: &[Artifact],
) -> Outcome<()> {
    for artifact in artifacts {
        let bytes = artifact.json.as_bytes();
        let sha256 = Sha256::digest(bytes);
        sqlx::query(
            "INSERT INTO blobs (principal, sha256, media_type, n_bytes, bytes) VALUES (?, ?, ?, ?, ?)
             ON CONFLICT DO NOTHING",
        )
        .bind(&principal.0)
        .bind(sha256.as_slice())
        .bind(MEDIA_TYPE)
        .bind(stored(bytes.len() as u64)?)
        .bind(bytes)
        .execute(&mut *tx)
        .await?;
        let saved = sqlx::query(
            "INSERT INTO artifacts (conversation_id, ref, alias, sha256, top_level, summaries, ordinal)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6,
                     (SELECT coalesce(max(ordinal) + 1, 0) FROM artifacts WHERE conversation_id = ?1))
             ON CONFLICT (conversation_id, ref) DO UPDATE SET
                 top_level = excluded.top_level, summaries = excluded.summaries
             WHERE artifacts.alias IS excluded.alias AND artifacts.sha256 = excluded.sha256",
        )
        .bind(id.0)
        .bind(artifact.reference.as_str())
        .bind(&artifact.alias)
        .bind(sha256.as_slice())
        .bind(artifact.top_level)
        .bind(record::encode_summaries(&artifact.summaries))
        .execute(&mut *tx)
        .await?;
        if saved.rows_affected() == 0 {
            let name = artifact.reference.as_str();
            return Err(Fault::corrupt(format!("{name} is stored with another value already")));
        }
    }
    Ok(())
}

/// In the order of registration.
pub(crate) async fn load(
    store: &SqliteStore,
    principal: &Principal,
    id: ConversationId,
) -> Outcome<Vec<Artifact>> {
    let rows: Vec<Row> = sqlx::query_as(
        "SELECT a.ref, a.alias, a.summaries, a.top_level, b.bytes
         FROM artifacts a
         JOIN conversations c ON c.id = a.conversation_id
         LEFT JOIN blobs b ON b.principal = c.principal AND b.sha256 = a.sha256
         WHERE a.conversation_id = ? AND c.principal = ? ORDER BY a.ordinal",
    )
    .bind(id.0)
    .bind(&principal.0)
    .fetch_all(&store.readers)
    .await?;
    rows.into_iter().map(artifact).collect()
}

/// The artifacts that cannot be read, or whose bytes are not those they were stored with, and why.
pub(crate) async fn unreadable(pool: &SqlitePool) -> Outcome<Vec<String>> {
    let mut unreadable = Vec::new();
    let mut rows = sqlx::query_as::<_, HashedRow>(
        "SELECT a.conversation_id, a.sha256, a.ref, a.alias, a.summaries, a.top_level, b.bytes
         FROM artifacts a
         JOIN conversations c ON c.id = a.conversation_id
         LEFT JOIN blobs b ON b.principal = c.principal AND b.sha256 = a.sha256
         ORDER BY a.conversation_id, a.ordinal",
    )
    .fetch(pool);
    while let Some(HashedRow { conversation_id, sha256, artifact: row }) = rows.try_next().await? {
        let is_whole = row.bytes.as_ref().is_none_or(|bytes| Sha256::digest(bytes).as_slice() == sha256);
        let why = match artifact(row) {
            Ok(_) if is_whole => continue,
            Ok(artifact) => format!("the bytes of {} have changed", artifact.reference.as_str()),
            Err(fault) => fault.of_row(),
        };
        unreadable.push(format!("conversation {conversation_id}: {why}"));
    }
    Ok(unreadable)
}

#[derive(FromRow)]
struct HashedRow {
    conversation_id: i64,
    sha256: Vec<u8>,
    #[sqlx(flatten)]
    artifact: Row,
}

fn artifact(row: Row) -> Outcome<Artifact> {
    let name = row.reference;
    let damaged = |what: &str| Fault::corrupt(format!("{name} {what}"));
    let reference = ArtifactRef::parse(&name)
        .filter(|reference| reference.as_str() == name)
        .ok_or_else(|| damaged("is not a reference"))?;
    let bytes = row.bytes.ok_or_else(|| damaged("has lost its bytes"))?;
    let json = String::from_utf8(bytes).map_err(|_| damaged("is not text"))?;
    Ok(Artifact {
        reference,
        alias: row.alias.ok_or_else(|| damaged("has no type"))?,
        json: json.into(),
        summaries: record::decode_summaries(&row.summaries).map_err(|error| Fault::record(&name, error))?,
        top_level: row.top_level,
    })
}
