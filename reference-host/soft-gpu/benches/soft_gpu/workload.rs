//! A kernel and the plain loop that does the same.

use std::time::Duration;

use soft_gpu::{LaunchConfig, Memory, Module, launch};

use crate::Outcome;
use crate::measure::{Bar, busy, paired, passing, row, working};

/// A loop in plain Rust that fills the words of the output.
pub(crate) type Plain = Box<dyn FnMut(&mut [u32])>;

/// A launch with its data. The kernel's parameters are the inputs' addresses, the output's, and the scalars.
pub(crate) struct Workload {
    pub(crate) what: &'static str,
    pub(crate) ptx: &'static [u8],
    pub(crate) entry: &'static str,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) inputs: Vec<Vec<u8>>,
    pub(crate) output: Vec<u32>,
    pub(crate) scalars: Vec<u32>,
    pub(crate) plain: Plain,
    /// How far the results, as single-precision numbers, may lie apart relatively; 0 compares bits.
    pub(crate) tolerance: f32,
    /// How often the plain loop's time the kernel may take.
    pub(crate) bar: f64,
}

impl Workload {
    /// Times both, compares their results and prints the rows.
    pub(crate) fn time(&mut self, rounds: usize) -> Outcome {
        let module = Module::load(self.ptx)?;
        let mut output = vec![0u8; 4 * self.output.len()];
        let [soft, plain] = self.both(rounds, busy, &module, &mut output, None)?;
        self.compare(&output)?;
        row(self.what, soft, plain, Bar::AtMost(self.bar));
        let [one, two] = self.both(rounds, passing, &module, &mut output, Some(2))?;
        self.compare(&output)?;
        row(
            "    on two threads, beside one",
            two,
            one,
            Bar::AtLeast(1.7),
        );
        // Shows what others on the machine hide: how it is when both threads always have a processor.
        let [one, two] = self.both(rounds, working, &module, &mut output, Some(2))?;
        row(
            "    by processor time, shared by two",
            two / 2,
            one,
            Bar::AtLeast(1.7),
        );
        Ok(())
    }

    /// The kernel on one thread beside the plain loop, or beside the kernel on several threads.
    fn both(
        &mut self,
        rounds: usize,
        clock: fn() -> Duration,
        module: &Module,
        output: &mut [u8],
        threads: Option<u32>,
    ) -> Result<[Duration; 2], Box<dyn std::error::Error>> {
        let Self {
            inputs,
            output: words,
            plain,
            grid,
            block,
            scalars,
            entry,
            ..
        } = self;
        let entry = module.entry(entry).ok_or("no such kernel")?;
        let addresses = (1u64..).map(|at| at << 28);
        let mut params: Vec<u8> = addresses
            .clone()
            .take(inputs.len() + 1)
            .flat_map(u64::to_le_bytes)
            .collect();
        params.extend(scalars.iter().copied().flat_map(u32::to_le_bytes));
        paired(rounds, clock, |second| {
            let config = LaunchConfig {
                grid: *grid,
                block: *block,
                threads: threads.filter(|_| second).unwrap_or(1),
                ..LaunchConfig::default()
            };
            if second && threads.is_none() {
                plain(words);
                std::hint::black_box(&words);
                return Ok(());
            }
            // Kernels that add to their output find it empty, as plain loops do.
            if let Some(start) = output.first_chunk_mut::<4>() {
                *start = [0; 4];
            }
            let mut memory = Memory::new();
            let buffers = inputs
                .iter_mut()
                .map(Vec::as_mut_slice)
                .chain([&mut *output]);
            for (address, bytes) in addresses.clone().zip(buffers) {
                memory.map(address, bytes)?;
            }
            launch(
                module,
                entry,
                &config,
                &params,
                &mut module.globals(),
                &mut memory,
            )?;
            Ok(())
        })
    }

    fn compare(&self, output: &[u8]) -> Outcome {
        let words = output.as_chunks::<4>().0.iter().copied();
        for (at, (found, &expected)) in words.map(u32::from_le_bytes).zip(&self.output).enumerate()
        {
            let [x, y] = [found, expected].map(f32::from_bits);
            let near = (x - y).abs() <= self.tolerance * y.abs().max(1.0);
            if found != expected && !near {
                return Err(format!("{}: word {at} is {found}, not {expected}", self.what).into());
            }
        }
        Ok(())
    }
}
