//! Installed models. Names are unique to a principal, and at most one model is the default.

use std::path::Path;

use colloquy::ports::{EngineKind, LlmRow, NewLlm, Page, Principal};
use colloquy_core::message::LlmId;
use sqlx::{FromRow, SqliteConnection};

use crate::{
    SqliteStore, conversations,
    fault::{Fault, Outcome},
    narrowed, stored,
};

macro_rules! select_llms {
    ($rest:literal) => {
        concat!(
            "SELECT id, name, engine, path, base_url, model, api_key_env, context_window, param_size, ",
            "size_bytes, is_default, created_at, generation_config FROM llms ",
            $rest
        )
    };
}

#[derive(FromRow)]
struct Row {
    id: i64,
    name: String,
    engine: String,
    path: Option<String>,
    base_url: Option<String>,
    model: Option<String>,
    api_key_env: Option<String>,
    context_window: Option<i64>,
    param_size: Option<f64>,
    size_bytes: Option<i64>,
    is_default: bool,
    created_at: i64,
    generation_config: Option<String>,
}

pub(crate) async fn insert(store: &SqliteStore, principal: &Principal, llm: NewLlm) -> Outcome<LlmRow> {
    let mut tx = store.begin_durable().await?;
    if llm.make_default {
        clear_default(&mut tx, principal).await?;
    }
    let (engine, path, base_url, model, api_key_env) = match &llm.engine {
        EngineKind::Llama { path } => ("llama", Some(relative(&store.folder, path)), None, None, None),
        EngineKind::OpenAi { base_url, model, api_key_env } => {
            ("openai", None, Some(base_url), Some(model), api_key_env.as_ref())
        }
    };
    let (id, is_default): (i64, bool) = sqlx::query_as(
        "INSERT INTO llms (principal, name, engine, path, base_url, model, api_key_env, context_window,
                           param_size, size_bytes, created_at, generation_config, is_default)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12,
                 NOT EXISTS (SELECT 1 FROM llms WHERE principal = ?1 AND is_default = 1))
         RETURNING id, is_default",
    )
    .bind(&principal.0)
    .bind(&llm.name)
    .bind(engine)
    .bind(path)
    .bind(base_url)
    .bind(model)
    .bind(api_key_env)
    .bind(llm.context_window)
    .bind(llm.param_size)
    .bind(llm.size_bytes.map(stored).transpose()?)
    .bind(llm.created_at)
    .bind(&llm.generation_config)
    .fetch_one(&mut *tx)
    .await?;
    tx.commit().await?;
    Ok(LlmRow {
        id: LlmId(id),
        name: llm.name,
        engine: llm.engine,
        context_window: llm.context_window,
        param_size: llm.param_size,
        size_bytes: llm.size_bytes,
        generation_config: llm.generation_config,
        is_default,
        created_at: llm.created_at,
    })
}

pub(crate) async fn find(store: &SqliteStore, principal: &Principal, id: LlmId) -> Outcome<Option<LlmRow>> {
    let row: Option<Row> = sqlx::query_as(select_llms!("WHERE principal = ? AND id = ?"))
        .bind(&principal.0)
        .bind(id.0)
        .fetch_optional(&store.readers)
        .await?;
    row.map(|row| llm(&store.folder, row)).transpose()
}

pub(crate) async fn list(store: &SqliteStore, principal: &Principal, page: Page) -> Outcome<Vec<LlmRow>> {
    let (before, limit) = conversations::bounds(page);
    let rows: Vec<Row> =
        sqlx::query_as(select_llms!("WHERE principal = ? AND id < ? ORDER BY id DESC LIMIT ?"))
            .bind(&principal.0)
            .bind(before)
            .bind(limit)
            .fetch_all(&store.readers)
            .await?;
    rows.into_iter().map(|row| llm(&store.folder, row)).collect()
}

/// The foreign key of the conversations unbinds them.
pub(crate) async fn delete(store: &SqliteStore, principal: &Principal, id: LlmId) -> Outcome<bool> {
    let mut tx = store.begin_durable().await?;
    let was_default: Option<bool> =
        sqlx::query_scalar("DELETE FROM llms WHERE principal = ? AND id = ? RETURNING is_default")
            .bind(&principal.0)
            .bind(id.0)
            .fetch_optional(&mut *tx)
            .await?;
    if was_default == Some(true) {
        sqlx::query(
            "UPDATE llms SET is_default = 1
             WHERE id = (SELECT id FROM llms WHERE principal = ? ORDER BY id DESC LIMIT 1)",
        )
        .bind(&principal.0)
        .execute(&mut *tx)
        .await?;
    }
    tx.commit().await?;
    Ok(was_default.is_some())
}

pub(crate) async fn set_default(store: &SqliteStore, principal: &Principal, id: LlmId) -> Outcome<bool> {
    let mut tx = store.begin_durable().await?;
    let exists: Option<i64> = sqlx::query_scalar("SELECT id FROM llms WHERE principal = ? AND id = ?")
        .bind(&principal.0)
        .bind(id.0)
        .fetch_optional(&mut *tx)
        .await?;
    if exists.is_none() {
        return Ok(false);
    }
    clear_default(&mut tx, principal).await?;
    sqlx::query("UPDATE llms SET is_default = 1 WHERE id = ?").bind(id.0).execute(&mut *tx).await?;
    tx.commit().await?;
    Ok(true)
}

/// The path without the folder it lies in; any other path as it is.
fn relative<'a>(folder: &Path, path: &'a str) -> &'a str {
    Path::new(path).strip_prefix(folder).ok().and_then(Path::to_str).unwrap_or(path)
}

async fn clear_default(tx: &mut SqliteConnection, principal: &Principal) -> Outcome<()> {
    sqlx::query("UPDATE llms SET is_default = 0 WHERE principal = ? AND is_default = 1")
        .bind(&principal.0)
        .execute(tx)
        .await?;
    Ok(())
}

fn llm(folder: &Path, row: Row) -> Outcome<LlmRow> {
    let name = format!("model {}", row.id);
    let lacks = |what: &str| Fault::corrupt(format!("{name} has no {what}"));
    let engine = match row.engine.as_str() {
        "llama" => {
            let path = folder.join(row.path.ok_or_else(|| lacks("path"))?);
            EngineKind::Llama { path: path.to_str().ok_or_else(|| lacks("path in UTF-8"))?.into() }
        }
        "openai" => EngineKind::OpenAi {
            base_url: row.base_url.ok_or_else(|| lacks("address"))?,
            model: row.model.ok_or_else(|| lacks("model"))?,
            api_key_env: row.api_key_env,
        },
        unknown => {
            let what = format!("{name} (engine {unknown:?})");
            return Err(colloquy::ports::StoreError::Newer { what }.into());
        }
    };
    Ok(LlmRow {
        id: LlmId(row.id),
        name: row.name,
        engine,
        context_window: row.context_window.map(|tokens| narrowed(&name, tokens)).transpose()?,
        param_size: row.param_size,
        size_bytes: row.size_bytes.map(|bytes| narrowed(&name, bytes)).transpose()?,
        generation_config: row.generation_config,
        is_default: row.is_default,
        created_at: row.created_at,
    })
}
