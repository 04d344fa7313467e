//! Rebuilds the crate when a migration is added: `migrate!` reads the folder, which cargo cannot see.

fn main() {
    println!("cargo:rerun-if-changed=migrations");
}
