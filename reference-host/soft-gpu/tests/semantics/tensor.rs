//! Matrix instructions against plain products. Factors are small integers, whose sums are exact in any order.

mod layout;
mod mma;
mod numbers;
mod rows;
mod values;
mod wmma;
