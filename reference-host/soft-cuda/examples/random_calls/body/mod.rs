//! Random calls of the driver API, and what must hold whatever they are.
//!
//! A thread runs sequences: it makes a context and a few objects, calls functions with drawn arguments, good and bad, and destroys what it
//! made. Threads see each other's objects and destroy them too. Memory of a sequence's own is kept beside the driver's as a second copy.

pub(crate) mod arguments;
pub(crate) mod draw;
pub(crate) mod sequence;
pub(crate) mod shadow;
pub(crate) mod sources;
pub(crate) mod structures;
pub(crate) mod table;
pub(crate) mod threads;
pub(crate) mod world;
