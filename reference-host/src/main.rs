//! The command line of the reference host.

fn main() {}
