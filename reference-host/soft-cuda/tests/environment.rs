//! What the environment can ask for, seen from outside: this program runs itself with wishes.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that panics has failed, and a scenario reports by what it prints"
)]

use std::process::{Command, Output};

use libtest_mimic::{Arguments, Failed, Trial};
use soft_cuda::api::{context, device, event, host_memory, memory, pool, stream};
use soft_cuda::{CUcontext, CUevent, CUmemoryPool, CUstream};

/// The variable by which this program is told to be a scenario.
const SCENARIO: &str = "TEST_OF_SOFT_CUDA_SCENARIO";

fn main() {
    match std::env::var(SCENARIO).as_deref() {
        Ok("tidy") => scenario(true),
        Ok("untidy") => scenario(false),
        Ok("silent") => {}
        _ => libtest_mimic::run(&Arguments::from_args(), trials()).exit(),
    }
}

/// Makes one of each object and ends them if it is `tidy`; prints each call's answer.
fn scenario(tidy: bool) {
    let answer = |name: &str, code: u32| {
        println!("{name} {code}");
        code == 0
    };
    macro_rules! call {
        ($chapter:ident :: $name:ident ( $($argument:expr),* )) => {
            // SAFETY: pointers are to places of their types, and handles are never followed.
            answer(stringify!($name), unsafe { $chapter::$name($($argument),*) })
        };
    }
    let mut own = CUcontext::default();
    let mut queue = CUstream::default();
    let mut noted = CUevent::default();
    let mut device_pool = CUmemoryPool::default();
    let (mut first, mut second) = (0, 0);
    let mut host = std::ptr::null_mut();
    call!(device::cuInit(0));
    call!(context::cuCtxCreate_v2(&mut own, 0, 0));
    call!(stream::cuStreamCreate(&mut queue, 0));
    call!(event::cuEventCreate(&mut noted, 0));
    call!(memory::cuMemAlloc_v2(&mut first, 100));
    call!(memory::cuMemAlloc_v2(&mut second, 28));
    call!(host_memory::cuMemAllocHost_v2(&mut host, 64));
    call!(pool::cuDeviceGetDefaultMemPool(&mut device_pool, 0));
    if tidy {
        call!(host_memory::cuMemFreeHost(host));
        call!(memory::cuMemFree_v2(second));
        call!(memory::cuMemFree_v2(first));
        call!(event::cuEventDestroy_v2(noted));
        call!(stream::cuStreamDestroy_v2(queue));
        call!(context::cuCtxDestroy_v2(own));
    }
}

/// Runs a scenario with variables set.
fn run(scenario: &str, variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    for (name, _) in std::env::vars() {
        if name.starts_with("SOFT_CUDA_") {
            command.env_remove(name);
        }
    }
    command
        .env(SCENARIO, scenario)
        .envs(variables.iter().copied())
        .output()
        .unwrap()
}

fn printed(output: &Output) -> (String, String) {
    assert!(output.status.success(), "{output:?}");
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(&output.stdout), text(&output.stderr))
}

/// The answers of a scenario other than success, as the scenario itself saw them.
fn refused(stdout: &str) -> Vec<&str> {
    let refused = |line: &&str| !line.ends_with(" 0");
    stdout.lines().filter(refused).collect()
}

fn trials() -> Vec<Trial> {
    let trial = |name, test: fn()| {
        Trial::test(name, move || -> Result<(), Failed> {
            test();
            Ok(())
        })
    };
    vec![
        trial("without wishes all succeeds in silence", || {
            let (stdout, stderr) = printed(&run("tidy", &[]));
            assert_eq!(stdout.lines().count(), 14);
            assert_eq!(refused(&stdout), [""; 0]);
            assert_eq!(stderr, "");
        }),
        trial("each call fails as asked, and only that one", || {
            let (clean, _) = printed(&run("tidy", &[]));
            let mut calls: Vec<(String, usize)> = Vec::new();
            for line in clean.lines() {
                let name = line.split(' ').next().unwrap().to_owned();
                let number = 1 + calls.iter().filter(|(other, _)| *other == name).count();
                calls.push((name, number));
            }
            for (at, (name, number)) in calls.iter().enumerate() {
                for wish in [format!("{name}:{number}=999"), format!("*:{}=999", at + 1)] {
                    let (stdout, _) = printed(&run("tidy", &[("SOFT_CUDA_FAIL", &wish)]));
                    let unknown = |line: &&str| line.ends_with(" 999");
                    let failed: Vec<_> = stdout.lines().filter(unknown).collect();
                    assert_eq!(failed, [format!("{name} 999")], "{wish}");
                    assert_eq!(stdout.lines().nth(at), Some(failed[0]), "{wish}");
                }
            }
        }),
        trial("every call of a function can fail", || {
            let wish = "cuMemAlloc_v2:*=CUDA_ERROR_OUT_OF_MEMORY";
            let (stdout, _) = printed(&run("untidy", &[("SOFT_CUDA_FAIL", wish)]));
            assert_eq!(refused(&stdout), ["cuMemAlloc_v2 2"; 2]);
        }),
        trial("memory runs short where asked", || {
            for (bytes, expected) in [("128", 0), ("127", 1), ("99", 1), ("27", 2)] {
                let (stdout, _) = printed(&run("untidy", &[("SOFT_CUDA_MEMORY", bytes)]));
                assert_eq!(refused(&stdout).len(), expected, "{bytes}");
            }
        }),
        trial("calls are traced with their results", || {
            let wish = [
                ("SOFT_CUDA_TRACE", "-"),
                ("SOFT_CUDA_FAIL", "cuMemAlloc_v2:2=2"),
            ];
            let (stdout, stderr) = printed(&run("untidy", &wish));
            assert_eq!(stderr.lines().count(), stdout.lines().count());
            assert_eq!(stderr.lines().next(), Some("cuInit CUDA_SUCCESS"));
            let failed: Vec<_> = stderr
                .lines()
                .filter(|line| !line.ends_with("SUCCESS"))
                .collect();
            assert_eq!(failed, ["cuMemAlloc_v2 CUDA_ERROR_OUT_OF_MEMORY"]);
        }),
        trial("reports go to files, each process anew", || {
            let folder = tempfile::tempdir().unwrap();
            let (trace, leaks) = (folder.path().join("trace"), folder.path().join("leaks"));
            for _ in 0..2 {
                let wishes = [
                    ("SOFT_CUDA_TRACE", trace.to_str().unwrap()),
                    ("SOFT_CUDA_LEAKS", leaks.to_str().unwrap()),
                ];
                let (_, stderr) = printed(&run("tidy", &wishes));
                assert_eq!(stderr, "");
                assert_eq!(std::fs::read_to_string(&trace).unwrap().lines().count(), 14);
                let leaked = std::fs::read_to_string(&leaks).unwrap();
                assert_eq!(leaked, "soft-cuda: leaked: none\n");
            }
        }),
        trial("what is still there at the end is said", || {
            let (_, stderr) = printed(&run("untidy", &[("SOFT_CUDA_LEAKS", "-")]));
            assert_eq!(
                stderr,
                "soft-cuda: leaked: 1 context, 1 stream, 1 event, 2 allocations (128 bytes), 1 host allocation (64 bytes)\n"
            );
            let (_, stderr) = printed(&run("silent", &[("SOFT_CUDA_LEAKS", "-")]));
            assert_eq!(stderr, "soft-cuda: leaked: none\n");
        }),
        trial("a delay delays and changes nothing", || {
            let began = std::time::Instant::now();
            let (stdout, _) = printed(&run("tidy", &[("SOFT_CUDA_DELAY", "cuInit=30000")]));
            assert_eq!(refused(&stdout), [""; 0]);
            assert!(began.elapsed() >= std::time::Duration::from_millis(30));
        }),
        trial(
            "wishes that are not understood are told once, and nothing starts",
            || {
                for (name, value) in [
                    ("SOFT_CUDA_FAIL", "cuMemAloc_v2:1=2"),
                    ("SOFT_CUDA_MEMORY", "all"),
                    ("SOFT_CUDA_INSTRUCTION_BUDGET", "-1"),
                    ("SOFT_CUDA_DELAY", "cuInit"),
                ] {
                    let (stdout, stderr) = printed(&run("tidy", &[(name, value)]));
                    assert_eq!(stdout.lines().next(), Some("cuInit 1"), "{name}");
                    assert!(refused(&stdout).len() >= 8, "{name}");
                    assert_eq!(stderr.lines().count(), 1, "{name}");
                    assert!(stderr.contains(name) && stderr.contains(value), "{stderr}");
                }
            },
        ),
    ]
}
