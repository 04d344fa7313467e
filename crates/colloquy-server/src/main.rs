//! The `colloquy` binary: everything is in the library, where tests reach it.

fn main() -> std::process::ExitCode {
    colloquy_server::cli::run()
}
