//! The library as an embedding program sees it: the real store on a file, scripted models.

mod crash;
mod harness;
mod turns;
