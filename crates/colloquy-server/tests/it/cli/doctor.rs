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
