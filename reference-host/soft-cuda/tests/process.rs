//! What a process with kernels shows outside: what they print, and what it leaves. This program runs itself.

#![allow(clippy::expect_used, reason = "a test that panics has failed")]

mod kernel;
mod own;

use std::ffi::CString;
use std::process::{Command, Output};
use std::ptr::null_mut;

use kernel::{FAULTS, KERNELS, argument, function, launch};
use libtest_mimic::{Arguments, Failed, Trial};
use own::{answers, call, fresh};
use soft_cuda::api::{context, library, link, module};
use soft_cuda::{CUlibrary, CUlinkState};

/// The variable by which this program is told to be a scenario.
const SCENARIO: &str = "TEST_OF_SOFT_CUDA_SCENARIO";

fn main() {
    match std::env::var(SCENARIO).as_deref() {
        Ok("says") => says(),
        Ok("leaves") => leaves(false),
        Ok("cleans") => leaves(true),
        Ok("spins") => spins(),
        _ => libtest_mimic::run(&Arguments::from_args(), trials()).exit(),
    }
}

fn trials() -> Vec<Trial> {
    let trial = |name: &str, run: fn()| {
        Trial::test(name, move || {
            run();
            Ok::<(), Failed>(())
        })
    };
    vec![
        trial(
            "kernels print to the standard output when they are waited for",
            || {
                let output = run("says", &[]);
                assert_eq!(text(&output.stdout), "before\nhi 3\nhi 4\nafter\n");
            },
        ),
        trial("code that is not unloaded counts as leaked", || {
            let output = run("leaves", &[("SOFT_CUDA_LEAKS", "-")]);
            let told = "soft-cuda: leaked: 1 context, 1 module, 2 libraries, 1 linker\n";
            assert_eq!(text(&output.stderr), told);
        }),
        trial("code that is unloaded leaves nothing", || {
            let output = run("cleans", &[("SOFT_CUDA_LEAKS", "-")]);
            assert_eq!(text(&output.stderr), "soft-cuda: leaked: none\n");
        }),
        trial(
            "a kernel without end is stopped after as much as is asked for",
            || {
                let output = run("spins", &[("SOFT_CUDA_INSTRUCTION_BUDGET", "100000")]);
                assert_eq!(text(&output.stdout), "702\n");
            },
        ),
    ]
}

/// Runs a scenario with variables set.
fn run(scenario: &str, variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(std::env::current_exe().expect("a path"));
    for (name, _) in std::env::vars() {
        if name.starts_with("SOFT_CUDA_") {
            command.env_remove(name);
        }
    }
    let command = command
        .env(SCENARIO, scenario)
        .envs(variables.iter().copied());
    let output = command.output().expect("it runs");
    assert!(output.status.success(), "{output:?}");
    output
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

#[allow(clippy::print_stdout, reason = "that is how a scenario reports")]
fn says() {
    fresh();
    let say = function(kernel::try_load(FAULTS).expect("a good source"), "say");
    for value in [3u32, 4] {
        let arguments = [argument(&value)];
        assert_eq!(launch(say, [1; 3], [1; 3], &arguments), 0);
    }
    println!("before");
    answers!(context::cuCtxSynchronize());
    println!("after");
}

fn leaves(clean: bool) {
    let own = fresh();
    let loaded = kernel::load();
    function(loaded, "nothing");
    let source = CString::new(KERNELS).expect("no zeros");
    let mut libraries = [CUlibrary::default(); 2];
    for library in &mut libraries {
        answers!(library::cuLibraryLoadData(
            library,
            source.as_ptr().cast(),
            null_mut(),
            null_mut(),
            0,
            null_mut(),
            null_mut(),
            0
        ));
        let (mut address, mut bytes) = (0, 0);
        answers!(library::cuLibraryGetGlobal(
            &mut address,
            &mut bytes,
            *library,
            c"counter".as_ptr()
        ));
    }
    let mut linker = CUlinkState::default();
    answers!(link::cuLinkCreate_v2(
        0,
        null_mut(),
        null_mut(),
        &mut linker
    ));
    if clean {
        answers!(link::cuLinkDestroy(linker));
        for library in libraries {
            answers!(library::cuLibraryUnload(library));
        }
        answers!(module::cuModuleUnload(loaded));
        answers!(context::cuCtxDestroy_v2(own));
    }
}

#[allow(clippy::print_stdout, reason = "that is how a scenario reports")]
fn spins() {
    fresh();
    assert_eq!(
        launch(function(kernel::load(), "spin"), [1; 3], [1; 3], &[]),
        0
    );
    println!("{}", call!(context::cuCtxSynchronize()));
}
