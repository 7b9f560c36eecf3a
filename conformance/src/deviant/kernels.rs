//! Mistakes about what becomes of a kernel once it is loaded.

use wasi_cuda_host::abi::AbiError::{Internal, InvalidKernel, LaunchFailed};
use wasi_cuda_host::abi::Import::{self, Launch, LoadPtx};

use super::call::Call;
use super::load::load_first;
use super::ptx::entries;
use super::{Act, Deviant, code};

pub(super) const DEVIANTS: &[Deviant] = &[
    load(
        "load-id-of-refused",
        &["load.id-not-reused"],
        "gives a kernel the id of the one before it when a load was refused in between",
        |c| {
            let refused = std::mem::take(&mut c.notes().flag);
            let before = c.guest().kernels.last().map(|(id, _)| *id);
            let id = c.pass();
            c.notes().flag = id < 0;
            before.filter(|_| refused && id >= 0).unwrap_or(id)
        },
    ),
    both(
        "load-id-after-launch",
        &["load.id-not-reused"],
        "gives a kernel the id of the one before it when that was launched",
        |c| {
            let before = c.guest().kernels.last().map(|(id, _)| *id);
            let answer = c.pass();
            if c.import == Launch {
                c.notes().flag |= answer == 0;
                return answer;
            }
            let launched = answer >= 0 && std::mem::take(&mut c.notes().flag);
            before.filter(|_| launched).unwrap_or(answer)
        },
    ),
    load(
        "entry-always-first",
        &["load.entry.chosen"],
        "takes the first kernel of a text, whatever the name",
        |c| {
            let wanted = c.ptx().and_then(|(_, entry)| String::from_utf8(entry).ok());
            match wanted.is_some_and(|wanted| known_entries(c).contains(&wanted)) {
                true => load_first(c),
                false => c.pass(),
            }
        },
    ),
    load(
        "entry-longest-prefix",
        &["load.entry.chosen"],
        "takes the last kernel whose name starts as wanted",
        |c| {
            let Some((text, entry)) = c.ptx() else {
                return c.pass();
            };
            let names = known_entries(c);
            let last = names
                .iter()
                .rev()
                .find(|name| name.as_bytes().starts_with(&entry));
            match last.filter(|_| !entry.is_empty()) {
                Some(name) => c.load(&text, name.as_bytes()),
                None => c.pass(),
            }
        },
    ),
    launch(
        "kernel-gone-after-fault",
        &["load.persists"],
        "forgets a kernel that faulted",
        |c| {
            let id = c.id();
            if c.notes().calls.contains_key(&id) {
                return code(InvalidKernel);
            }
            let answer = c.pass();
            if answer == code(LaunchFailed) {
                c.notes().calls.insert(id, Vec::new());
            }
            answer
        },
    ),
    launch(
        "kernels-gone-after-fault",
        &["load.persists"],
        "forgets the instance's kernels after a fault",
        |c| {
            if c.notes().flag {
                return code(InvalidKernel);
            }
            let answer = c.pass();
            c.notes().flag = answer == code(LaunchFailed);
            answer
        },
    ),
    launch(
        "kernels-of-64",
        &["load.persists"],
        "keeps the 64 kernels that were loaded last",
        |c| {
            let id = c.id();
            let older = c
                .guest()
                .kernels
                .iter()
                .rev()
                .skip(64)
                .any(|(kernel, _)| *kernel == id);
            c.refuse_if(older, InvalidKernel)
        },
    ),
    launch(
        "kernel-of-50-launches",
        &["load.persists"],
        "forgets a kernel after 50 launches",
        |c| {
            c.notes().number += 1;
            let worn = c.notes().number > 50;
            c.refuse_if(worn, InvalidKernel)
        },
    ),
    both(
        "kernel-text-read-at-launch",
        &["load.own-copy"],
        "reads the text again at each launch",
        |c| {
            if c.import == LoadPtx {
                let args = c.args.clone();
                let id = c.pass();
                c.notes().calls.insert(id, args);
                return id;
            }
            let id = c.id();
            if let Some(args) = c.notes().calls.get(&id).cloned() {
                let again = c.also_here(LoadPtx, &args);
                if again < 0 {
                    return code(LaunchFailed);
                }
                c.set_id(again);
            }
            c.pass()
        },
    ),
    both(
        "refused-load-forgets",
        &["load.refused-is-harmless"],
        "forgets the kernels it has when it refuses a load",
        |c| {
            if c.import == LoadPtx {
                let answer = c.pass();
                if answer < 0 {
                    let loaded = c.guest().kernels.len() as i64;
                    c.notes().number = loaded;
                }
                return answer;
            }
            let (id, forgotten) = (c.id(), usize::try_from(c.notes().number).unwrap_or(0));
            let wrong = c
                .guest()
                .kernels
                .iter()
                .take(forgotten)
                .any(|(kernel, _)| *kernel == id);
            c.refuse_if(wrong, InvalidKernel)
        },
    ),
    load(
        "load-two-faults-internal",
        &["load.two-faults"],
        "answers internal when both regions are outside the memory",
        |c| {
            let wrong = c.outside("ptx_ptr", "ptx_len") && c.outside("entry_ptr", "entry_len");
            c.refuse_if(wrong, Internal)
        },
    ),
];

const fn load(
    name: &'static str,
    breaks: &'static [&'static str],
    wrong: &'static str,
    act: Act,
) -> Deviant {
    Deviant::new(name, breaks, wrong, &[LoadPtx], act)
}

const fn launch(
    name: &'static str,
    breaks: &'static [&'static str],
    wrong: &'static str,
    act: Act,
) -> Deviant {
    Deviant::new(name, breaks, wrong, &[Launch], act)
}

const fn both(
    name: &'static str,
    breaks: &'static [&'static str],
    wrong: &'static str,
    act: Act,
) -> Deviant {
    const BOTH: &[Import] = &[LoadPtx, Launch];
    Deviant::new(name, breaks, wrong, BOTH, act)
}

fn known_entries(c: &Call<'_>) -> Vec<String> {
    let text = c.ptx().and_then(|(text, _)| String::from_utf8(text).ok());
    text.map(|text| entries(&text)).unwrap_or_default()
}
