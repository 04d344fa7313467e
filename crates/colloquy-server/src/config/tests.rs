use std::collections::HashMap;

use std::path::Path;

use super::*;

/// A home with its data folder in a temporary place, and the variables of one imagined process.
struct Home {
    dir: tempfile::TempDir,
    variables: HashMap<String, String>,
}

impl Home {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let variables = HashMap::from([("HOME".to_owned(), dir.path().display().to_string())]);
        Self { dir, variables }
    }

    fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.insert(name.to_owned(), value.to_owned());
        self
    }

    fn file(self, text: &str) -> Self {
        let folder = self.data_dir();
        std::fs::create_dir_all(&folder).expect("the data folder");
        std::fs::write(folder.join("config.toml"), text).expect("config.toml");
        self
    }

    fn data_dir(&self) -> PathBuf {
        self.dir.path().join(".local/share/colloquy")
    }

    fn read(&self, flags: &SettingFlags) -> Result<Config, ConfigError> {
        Config::read(flags, &|name| self.variables.get(name).cloned())
    }

    fn config(&self) -> Config {
        self.read(&SettingFlags::default()).expect("good settings")
    }

    fn refusal(&self) -> String {
        self.read(&SettingFlags::default()).expect_err("bad settings").to_string()
    }
}

fn shown<'a>(config: &'a Config, key: &str) -> &'a Shown {
    config.shown.iter().find(|shown| shown.key == key).expect("a known setting")
}

#[test]
fn the_defaults_are_those_of_the_design() {
    let home = Home::new();
    let config = home.config();
    assert_eq!(config.data_dir, home.data_dir());
    assert_eq!(config.http.host, IpAddr::V4(Ipv4Addr::LOCALHOST));
    assert_eq!(config.http.port, Port::FirstFree);
    assert_eq!(config.http.heartbeat_s, 15);
    assert_eq!((config.engine.idle_unload_s, config.engine.idle_tick_s), (300, 30));
    assert_eq!(
        config.timing,
        Timing {
            flush_ms: 250,
            lease_ms: 10_000,
            lease_heartbeat_ms: 3_000,
            event_keep_ms: 3_600_000,
            sweep_ms: 300_000,
            retry_pause_ms: 500,
        }
    );
    assert_eq!(config.max_tokens, None);
    assert_eq!(config.http.token, None);
}

#[test]
fn a_flag_beats_the_environment_beats_the_file_beats_the_default() {
    let mut home = Home::new();
    assert_eq!(home.config().timing.flush_ms, 250);
    assert_eq!(shown(&home.config(), "flush_ms").source, Source::Default);

    home = home.file("flush_ms = 100");
    assert_eq!(home.config().timing.flush_ms, 100);
    let file = home.data_dir().join("config.toml");
    assert_eq!(shown(&home.config(), "flush_ms").source, Source::File(file));

    home = home.variable("COLLOQUY_FLUSH_MS", "50");
    assert_eq!(home.config().timing.flush_ms, 50);
    assert_eq!(shown(&home.config(), "flush_ms").source, Source::Variable);

    let config = home.read(&SettingFlags::default().with("flush_ms", "7")).expect("good settings");
    assert_eq!(config.timing.flush_ms, 7);
    assert_eq!(shown(&config, "flush_ms").source, Source::Flag);
}

#[test]
fn every_setting_is_read_and_shown_exactly_once() {
    let config = Home::new().config();
    let keys: Vec<_> = config.shown.iter().map(|shown| shown.key).collect();
    let all: Vec<_> = SETTINGS.iter().map(|setting| setting.key).collect();
    assert_eq!(keys, all);
}

#[test]
fn the_data_folder_follows_flag_variable_and_xdg() {
    let home = Home::new().variable("XDG_DATA_HOME", "/xdg");
    assert_eq!(home.config().data_dir, Path::new("/xdg/colloquy"));
    let home = home.variable("XDG_DATA_HOME", "relative/is/ignored");
    assert_eq!(home.config().data_dir, home.data_dir());
    let home = home.variable("COLLOQUY_DATA_DIR", "/variable");
    assert_eq!(home.config().data_dir, Path::new("/variable"));
    let config = home.read(&SettingFlags::default().with("data_dir", "/flag")).expect("good settings");
    assert_eq!(config.data_dir, Path::new("/flag"));
}

#[test]
fn a_process_without_a_home_is_told_to_name_the_folder() {
    let refusal = Config::read(&SettingFlags::default(), &|_| None).expect_err("no home").to_string();
    assert!(refusal.contains("--data-dir"), "{refusal}");
}

#[test]
fn an_empty_variable_counts_as_unset() {
    assert_eq!(Home::new().variable("COLLOQUY_PORT", "").config().http.port, Port::FirstFree);
}

#[test]
fn an_unknown_name_in_the_file_is_refused_with_the_file_the_name_and_what_there_is() {
    let refusal = Home::new().file("flush = 3").refusal();
    assert!(refusal.contains("unknown setting `flush`"), "{refusal}");
    assert!(refusal.contains("config.toml"), "{refusal}");
    assert!(refusal.contains("flush_ms"), "{refusal}");
}

#[test]
fn a_bad_value_is_refused_with_its_place_and_what_is_allowed() {
    let refusal = Home::new().file("flush_ms = \"soon\"").refusal();
    assert!(refusal.starts_with("`flush_ms` in /"), "{refusal}");
    assert!(refusal.ends_with("must be a whole number from 1 to 60000, not \"soon\""), "{refusal}");

    let refusal = Home::new().variable("COLLOQUY_PORT", "65536").refusal();
    assert_eq!(refusal, "COLLOQUY_PORT must be a whole number from 0 to 65535, not \"65536\"");

    let refusal = Home::new().file("port = true").refusal();
    assert!(refusal.contains("from 0 to 65535, not \"true\""), "{refusal}");

    let refusal = Home::new()
        .read(&SettingFlags::default().with("host", "example.org"))
        .expect_err("no address")
        .to_string();
    assert_eq!(refusal, "--host must be an IP address such as 127.0.0.1, not \"example.org\"");
}

#[test]
fn numbers_are_taken_at_both_ends_of_their_range_and_no_further() {
    for (value, good) in [("0", false), ("1", true), ("60000", true), ("60001", false), ("-1", false)] {
        let home = Home::new().variable("COLLOQUY_FLUSH_MS", value);
        assert_eq!(home.read(&SettingFlags::default()).is_ok(), good, "{value}");
    }
}

#[test]
fn a_lease_is_always_renewed_before_it_ends() {
    let refusal = Home::new().file("lease_s = 4\nlease_heartbeat_s = 4").refusal();
    assert!(refusal.contains("from 1 to 3"), "{refusal}");
    let config = Home::new().file("lease_s = 2").config();
    assert_eq!((config.timing.lease_ms, config.timing.lease_heartbeat_ms), (2_000, 1_000));
}

#[test]
fn a_file_that_is_no_toml_is_refused_with_the_line() {
    let refusal = Home::new().file("port = 1\nhost = = 2").refusal();
    assert!(refusal.contains("config.toml is not valid TOML"), "{refusal}");
    assert!(refusal.contains("line 2"), "{refusal}");
}

#[test]
fn the_folder_cannot_be_moved_from_inside() {
    let refusal = Home::new().file("data_dir = \"/elsewhere\"").refusal();
    assert!(refusal.contains("COLLOQUY_DATA_DIR"), "{refusal}");
}

#[test]
fn lists_are_arrays_in_the_file_and_separated_by_commas_elsewhere() {
    let home = Home::new().file("allowed_hosts = [\"one.example\", \"two.example\"]");
    assert_eq!(home.config().http.allowed_hosts, ["one.example", "two.example"]);
    let home = home.variable("COLLOQUY_ALLOWED_HOSTS", "three.example, four.example");
    assert_eq!(home.config().http.allowed_hosts, ["three.example", "four.example"]);
}

#[test]
fn an_origin_with_a_path_or_without_a_scheme_is_refused() {
    for origin in ["example.org", "https://example.org/path", "https://", "null", "*"] {
        let refusal = Home::new().variable("COLLOQUY_ALLOWED_ORIGINS", origin).refusal();
        assert!(refusal.starts_with("COLLOQUY_ALLOWED_ORIGINS must be origins"), "{refusal}");
    }
}

#[test]
fn a_token_is_never_shown_and_a_bad_one_never_repeated() {
    let config = Home::new().variable("COLLOQUY_TOKEN", "correct-horse").config();
    assert_eq!(config.http.token.as_ref().map(Token::reveal), Some("correct-horse"));
    assert_eq!(shown(&config, "token").value.as_deref(), Some("(set)"));
    assert!(!format!("{config:?}").contains("correct-horse"));

    for bad in ["seven77", "with a blank", "schlüssel"] {
        let refusal = Home::new().variable("COLLOQUY_TOKEN", bad).refusal();
        assert!(!refusal.contains(bad), "{refusal}");
        assert!(refusal.contains("at least 8"), "{refusal}");
    }
    assert!(Home::new().variable("COLLOQUY_TOKEN", "eight888").config().http.token.is_some());
}

#[test]
fn flags_come_from_the_command_line_in_any_place_and_allow_origin_adds() {
    use clap::{CommandFactory, FromArgMatches, Parser};

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        flags: SettingFlags,
        #[command(subcommand)]
        command: Sub,
    }
    #[derive(clap::Subcommand)]
    enum Sub {
        Serve,
    }

    let words = "x --flush-ms 9 serve --port 80 --allowed-origins http://a --allow-origin http://b";
    let matches = Line::command().get_matches_from(words.split(' '));
    let line = Line::from_arg_matches(&matches).expect("a good line");
    assert!(matches!(line.command, Sub::Serve));
    let config = Home::new().read(&line.flags).expect("good settings");
    assert_eq!(config.timing.flush_ms, 9);
    assert_eq!(config.http.port, Port::Exactly(80));
    assert_eq!(config.http.allowed_origins, ["http://a", "http://b"]);
}
