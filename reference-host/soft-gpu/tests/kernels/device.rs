//! A small host: modules from the fixtures, buffers, launches.

use std::collections::HashMap;
use std::path::Path;

use soft_gpu::{Fault, Globals, LaunchConfig, LaunchError, Memory, Module, Signature, launch};

pub(crate) use crate::values::{Arg, Random, Shape, Value, assert_same, bits32, bytes_of};

/// One build of one file of kernels.
pub(crate) struct Kernels {
    module: Module,
    source: Vec<u8>,
    /// Those of kernels that have run.
    signatures: HashMap<String, Signature>,
    pub(crate) globals: Globals,
    /// `scan.ptx` or `scan.debug.ptx`, for messages.
    pub(crate) file: String,
    pub(crate) debug: bool,
}

/// Both builds that nvcc made of one `.cu` file.
pub(crate) fn builds(name: &str) -> [Kernels; 2] {
    [
        release(name),
        Kernels::load(format!("{name}.debug.ptx"), true),
    ]
}

/// One build alone: the release build for `scan`, another one for `scan.nvrtc`.
pub(crate) fn release(name: &str) -> Kernels {
    Kernels::load(format!("{name}.ptx"), false)
}

impl Kernels {
    fn load(file: String, debug: bool) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../fixtures/kernels")
            .join(&file);
        let source =
            std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let module = Module::load(&source).unwrap_or_else(|error| panic!("{file}:{error}"));
        Self {
            globals: module.globals(),
            module,
            source,
            signatures: HashMap::new(),
            file,
            debug,
        }
    }

    /// Writes a `.const` or `.global` variable from its first byte on.
    pub(crate) fn set<T: Value>(&mut self, variable: &str, values: &[T]) {
        let bytes = bytes_of(values);
        let target = self
            .globals
            .variable_mut(variable)
            .unwrap_or_else(|| panic!("no variable {variable}"));
        assert_eq!(target.len(), bytes.len(), "{variable}");
        target.copy_from_slice(&bytes);
    }

    /// Runs one kernel to its end; a fault fails the test.
    pub(crate) fn run(&mut self, entry: &str, shape: Shape, args: &mut [Arg]) {
        if let Err(error) = self.launch(entry, shape, args) {
            panic!("{} {entry} {shape:?}: {error}", self.file);
        }
    }

    /// Runs one kernel that has to stop with a fault.
    pub(crate) fn fault(&mut self, entry: &str, shape: Shape, args: &mut [Arg]) -> Fault {
        match self.launch(entry, shape, args) {
            Err(LaunchError::Fault(fault)) => *fault,
            other => panic!(
                "{} {entry} {shape:?}: {other:?}, expected a fault",
                self.file
            ),
        }
    }

    fn launch(&mut self, entry: &str, shape: Shape, args: &mut [Arg]) -> Result<(), LaunchError> {
        let kernel = self
            .module
            .entry(entry)
            .unwrap_or_else(|| panic!("{} has no {entry}", self.file));
        assert_eq!(kernel.params().len(), args.len(), "{entry}");
        let signature = self.signatures.entry(entry.to_owned()).or_insert_with(|| {
            let signature = Signature::of(&self.source, entry).expect("it has loaded");
            signature.expect("it is there")
        });
        assert_eq!(signature.params(), kernel.params(), "{entry}");
        let before: Vec<_> = args.iter().map(held).collect();
        let mut params = vec![0; kernel.param_bytes() as usize];
        let mut memory = Memory::new();
        for (index, (param, arg)) in kernel.params().iter().zip(&mut *args).enumerate() {
            let address = BUFFERS_BASE + index as u64 * BUFFERS_STRIDE;
            let value = match arg {
                Arg::Buffer(bytes) => {
                    memory.map(address, bytes).expect("buffers do not overlap");
                    address.to_le_bytes().to_vec()
                }
                Arg::Value(bytes) => bytes.clone(),
            };
            assert_eq!(
                param.size_bytes as usize,
                value.len(),
                "{entry}: {}",
                param.name
            );
            params[param.offset_bytes as usize..][..value.len()].copy_from_slice(&value);
        }
        let config = LaunchConfig {
            grid: shape.grid,
            block: shape.block,
            dynamic_shared_bytes: shape.dynamic_shared_bytes,
            instruction_budget: 1 << 40,
            ..LaunchConfig::default()
        };
        let outcome = launch(
            &self.module,
            kernel,
            &config,
            &params,
            &mut self.globals,
            &mut memory,
        );
        for ((arg, before), (param, written)) in args
            .iter()
            .zip(before)
            .zip(kernel.params().iter().zip(signature.written()))
        {
            assert!(
                *written || held(arg) == before,
                "{} {entry} writes through {}, which its signature denies",
                self.file,
                param.name
            );
        }
        outcome
    }
}

/// The bytes of a buffer, or of a value.
fn held(arg: &Arg) -> Vec<u8> {
    let (Arg::Buffer(bytes) | Arg::Value(bytes)) = arg;
    bytes.clone()
}

/// Above 4 GiB, so that an address cut to 32 bits cannot work.
const BUFFERS_BASE: u64 = 0x7_0000_0000;
const BUFFERS_STRIDE: u64 = 0x1000_0000;
