//! The store suite on the store in memory.

use std::sync::Arc;

use colloquy::MemoryStore;
use colloquy_testkit::store_suite::Fixture;

async fn open() -> Fixture {
    Fixture { store: Arc::new(MemoryStore::new()), keep: Box::new(()) }
}

colloquy_testkit::store_suite!(crate::memory::open);
