//! What arithmetic instructions compute, in every form, against references that share no code with the interpreter: a softfloat of
//! another author for floats of every width, integers wide enough for every result, and series in double precision for approximate functions.
//!
//! A row of a table is one form of an instruction; it runs over thousands of operands in one launch, edge values always among them.

mod approximate;
mod compare;
mod convert;
mod double;
mod elementary;
mod half;
mod harness;
mod integer;
mod order;
mod pack;
mod single;
mod softfloat;
