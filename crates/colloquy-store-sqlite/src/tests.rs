use colloquy::ports::{EngineKind, NewLlm, Principal, Store};

use super::*;

fn model(name: &str, path: String) -> NewLlm {
    NewLlm {
        name: name.into(),
        engine: EngineKind::Llama { path },
        context_window: None,
        param_size: None,
        size_bytes: None,
        generation_config: None,
        make_default: false,
        created_at: 0,
    }
}

#[tokio::test]
async fn a_full_disk_is_named_and_writing_goes_on_once_there_is_room() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("colloquy.db")).await.unwrap();
    let who = Principal::local();
    let small = |name: &str| model(name, "/m.gguf".into());
    store.insert_llm(&who, small("before")).await.unwrap();
    let pages: i64 = sqlx::query_scalar("PRAGMA page_count").fetch_one(&store.durable).await.unwrap();
    sqlx::query(sqlx::AssertSqlSafe(format!("PRAGMA max_page_count = {pages}")))
        .execute(&store.durable)
        .await
        .unwrap();
    for _ in 0..3 {
        let huge = model("huge", "/".repeat(1 << 20));
        assert!(matches!(store.insert_llm(&who, huge).await, Err(StoreError::DiskFull)));
    }
    // A fresh connection, or one with room again: nothing of the failures is left over.
    sqlx::query("PRAGMA max_page_count = 1000000").execute(&store.durable).await.unwrap();
    store.insert_llm(&who, small("after")).await.unwrap();
    let names: Vec<String> =
        store.list_llms(&who, Default::default()).await.unwrap().into_iter().map(|llm| llm.name).collect();
    assert_eq!(names, ["after", "before"]);
}

#[tokio::test]
async fn a_model_in_the_folder_moves_with_it_and_one_outside_stays() {
    let home = tempfile::tempdir().unwrap();
    let (old, new) = (home.path().join("old"), home.path().join("new"));
    std::fs::create_dir(&old).unwrap();
    let who = Principal::local();
    let inside = old.join("models/a.gguf").to_str().unwrap().to_owned();
    let store = SqliteStore::open(&old.join("colloquy.db")).await.unwrap();
    let installed = store.insert_llm(&who, model("inside", inside.clone())).await.unwrap();
    assert_eq!(installed.engine, EngineKind::Llama { path: inside });
    store.insert_llm(&who, model("outside", "/somewhere/b.gguf".into())).await.unwrap();
    store.close().await;
    std::fs::rename(&old, &new).unwrap();

    let store = SqliteStore::open(&new.join("colloquy.db")).await.unwrap();
    let found = store.find_llm(&who, installed.id).await.unwrap().unwrap();
    let moved = new.join("models/a.gguf").to_str().unwrap().to_owned();
    assert_eq!(found.engine, EngineKind::Llama { path: moved });
    let all = store.list_llms(&who, Default::default()).await.unwrap();
    assert_eq!(all[0].engine, EngineKind::Llama { path: "/somewhere/b.gguf".into() });
}
