//! Rebuilds the crate when a migration is added: `migrate!` reads the folder, which cargo cannot see.

fn main() {
    #[expect(clippy::print_stdout, reason = "this is how a build script speaks to cargo")]
    {
        println!("cargo:rerun-if-changed=migrations");
    }
}
