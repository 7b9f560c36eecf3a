//! One launch of a kernel with a thread a row.

use soft_gpu::{LaunchConfig, Memory, Module, launch};

/// Where the rows of operands lie.
pub(crate) const IN: u64 = 0x7_0000_0000;
const OUT: u64 = 0x9_0000_0000;

/// Runs the only kernel of `module` over so many rows of `input`; its parameters are where these lie, where the results go, and how many rows
/// there are. Gives `outputs` results a row.
pub(crate) fn over_rows(
    module: &Module,
    what: &str,
    rows: usize,
    input: impl IntoIterator<Item = u64>,
    outputs: usize,
) -> Vec<u64> {
    let mut input: Vec<u8> = input.into_iter().flat_map(u64::to_le_bytes).collect();
    let mut output = vec![0u8; rows * outputs * 8];
    let mut params = Vec::new();
    params.extend(IN.to_le_bytes());
    params.extend(OUT.to_le_bytes());
    params.extend((rows as u32).to_le_bytes());
    let mut memory = Memory::new();
    memory.map(IN, &mut input).expect("a free place");
    memory.map(OUT, &mut output).expect("a free place");
    // Blocks of 96 make whole warps of most rows and a ragged one of the last.
    let config = LaunchConfig {
        grid: [(rows as u32).div_ceil(96), 1, 1],
        block: [96, 1, 1],
        ..LaunchConfig::default()
    };
    let entry = module.entries().next().expect("the kernel");
    launch(
        module,
        entry,
        &config,
        &params,
        &mut module.globals(),
        &mut memory,
    )
    .unwrap_or_else(|error| panic!("{what}: {error}"));
    output
        .as_chunks::<8>()
        .0
        .iter()
        .map(|word| u64::from_le_bytes(*word))
        .collect()
}
