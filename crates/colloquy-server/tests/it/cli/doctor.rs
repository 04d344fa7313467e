//! `doctor`: the shape that scripts read, and a way out for everything that is wrong.

use colloquy_testkit::scripted_server::ScriptedServer;
use serde_json::Value;

use super::place::Place;

#[tokio::test]
async fn it_gives_the_documented_object_and_a_fix_for_each_fault() {
    let place = Place::new();
    let ran = place.run(&["doctor", "--json"]).await;
    assert_eq!(ran.code, Some(1), "nothing is installed: {ran:?}");
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    let members: Vec<_> = report.as_object().unwrap().keys().map(String::as_str).collect();
    let mut expected =
        ["ok", "version", "data_dir", "config", "engine", "models", "default_model", "window", "checks"];
    expected.sort_unstable();
    let mut members = members;
    members.sort_unstable();
    assert_eq!(members, expected);
    assert_eq!(report["ok"], false);
    assert_eq!(report["data_dir"], place.data_dir().to_str().unwrap());
    assert_eq!(report["default_model"], Value::Null);
    for check in report["checks"].as_array().unwrap() {
        assert!(
            check["name"].is_string() && check["ok"].is_boolean() && check["detail"].is_string(),
            "{check}"
        );
        assert_eq!(check["ok"] == false, check["fix"].is_string(), "{check}");
    }
}

#[tokio::test]
async fn a_remote_model_needs_no_engine_and_all_is_well() {
    let server = ScriptedServer::start([]).await.unwrap();
    let place = Place::with_model(&server).await;
    let ran = place.run(&["doctor", "--json"]).await.succeeds();
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(report["ok"], true);
    assert_eq!((&report["default_model"], &report["window"]), (&"scripted".into(), &8192.into()));

    let _served = place.serve().await;
    let ran = place.run(&["doctor", "--check"]).await.succeeds();
    assert!(ran.stdout.contains("scripted"), "{ran:?}");
}

#[tokio::test]
async fn it_shows_every_setting_with_its_source_and_never_the_token() {
    let place = Place::new().variable("COLLOQUY_TOKEN", "correct-horse");
    place.write("config.toml", "flush_ms = 100");
    let ran = place.run(&["doctor", "--json", "--heartbeat-s", "7"]).await;
    assert!(!ran.stdout.contains("correct-horse") && !ran.stderr.contains("correct-horse"), "{ran:?}");
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    let setting = |key: &str| {
        let setting = &report["config"][key];
        (setting["value"].as_str().map(str::to_owned), setting["source"].as_str().unwrap().to_owned())
    };
    assert_eq!(setting("heartbeat_s"), (Some("7".into()), "flag".into()));
    assert_eq!(setting("token"), (Some("(set)".into()), "environment".into()));
    assert_eq!(setting("flush_ms").0.as_deref(), Some("100"));
    assert!(setting("flush_ms").1.ends_with("config.toml"));
    assert_eq!(setting("sweep_s"), (Some("300".into()), "default".into()));
}

#[tokio::test]
async fn a_local_model_whose_engine_is_missing_is_a_fault() {
    let place = Place::new().variable("COLLOQUY_LLAMA_SERVER", "/no/such/llama-server");
    let ran = place.run(&["doctor"]).await;
    assert_eq!(ran.code, Some(1));
    assert!(ran.stdout.contains("/no/such/llama-server"), "{ran:?}");
}

/// The names of the failed checks, and what is to be done.
async fn faults(place: &Place, code: i32, line: &[&str]) -> Vec<(String, String)> {
    let ran = place.run(line).await;
    assert_eq!(ran.code, Some(code), "{ran:?}");
    let report: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
    assert_eq!(report["ok"], false);
    let text = |check: &Value, key: &str| check[key].as_str().unwrap().to_owned();
    let checks = report["checks"].as_array().unwrap();
    checks.iter().filter(|c| c["ok"] == false).map(|c| (text(c, "name"), text(c, "fix"))).collect()
}

#[tokio::test]
async fn a_store_that_cannot_be_opened_is_the_only_fault_and_has_one_way_out() {
    let damaged = Place::new();
    damaged.write("colloquy.db", "these are no conversations, ".repeat(100));
    let newer = Place::new();
    newer.run(&["models", "list"]).await.succeeds();
    let database = format!("sqlite://{}", newer.data_dir().join("colloquy.db").display());
    let pool = sqlx::SqlitePool::connect(&database).await.unwrap();
    sqlx::query("PRAGMA user_version = 9999").execute(&pool).await.unwrap();
    pool.close().await;
    for (place, words) in [(damaged, "colloquy.db.backup-v*"), (newer, "newer Colloquy")] {
        let faults = faults(&place, 1, &["doctor", "--check", "--json"]).await;
        let [(name, fix)] = faults.as_slice() else { panic!("{faults:?}") };
        assert!(name == "data" && fix.contains(words), "{faults:?}");
    }
}

#[tokio::test]
async fn a_server_that_asks_for_a_token_is_told_apart() {
    let place = Place::new();
    let _served = place.serve_with(&["--port", "0", "--token", "correct-horse"]).await;
    let faults = faults(&place, 1, &["doctor", "--check", "--json"]).await;
    let [(_, fix)] = faults.as_slice() else { panic!("{faults:?}") };
    assert!(fix.contains("set COLLOQUY_TOKEN"), "{faults:?}");
}

#[tokio::test]
async fn its_document_is_printed_also_when_there_are_no_settings_or_no_folder() {
    let place = Place::new();
    place.write("config.toml", "flush = 3");
    assert_eq!(faults(&place, 2, &["doctor", "--json"]).await[0].0, "config");

    place.write("file", "");
    let file = place.data_dir().join("file");
    std::fs::remove_file(place.data_dir().join("config.toml")).unwrap();
    let faults = faults(&place, 2, &["doctor", "--json", "--data-dir", file.to_str().unwrap()]).await;
    let [(_, fix)] = faults.as_slice() else { panic!("{faults:?}") };
    assert!(fix.contains("is a file"), "{faults:?}");
    assert_eq!(place.run(&["doctor"]).await.stderr, "");
}
