//! Carries out one fixture on one host.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use crate::fixture::{Accept, Action, Arg, Call, Fixture, Plan};
use crate::judge::{Verdict, describe, describe_stably, judge};
use crate::profile::Profile;
use crate::report::CaseResult;
use crate::runtime::{Guest, Host, InstantiateError, Outcome, Runtime, RuntimeInfo, Value};

/// Runs the steps of `fixture` up to the last case in `selected` and reports those cases.
///
/// `mark` is told before and after each call into the runtime on behalf of which case it is.
pub(super) fn fixture(
    fixture: &Fixture,
    selected: &[usize],
    runtime: &dyn Runtime,
    info: &RuntimeInfo,
    limit: Duration,
    mark: &dyn Fn(Option<usize>),
    report: &dyn Fn(usize, CaseResult),
) {
    let mut run = Execution {
        fixture,
        selected,
        profile: info.profile,
        limit,
        mark,
        report,
        guests: Vec::new(),
        host: None,
        saved: BTreeMap::new(),
        next: selected.first().copied().unwrap_or(0),
    };
    if let Some(need) = fixture
        .needs
        .iter()
        .find(|need| !info.offers.contains(need))
    {
        return run.rest(Verdict::Skip, &format!("the runtime does not offer {need}"));
    }
    if let Err(stop) = run.start(runtime).and_then(|()| run.plan()) {
        run.stop(&stop);
    }
    run.end();
}

struct Execution<'a> {
    fixture: &'a Fixture,
    selected: &'a [usize],
    profile: Profile,
    limit: Duration,
    mark: &'a dyn Fn(Option<usize>),
    report: &'a dyn Fn(usize, CaseResult),
    guests: Vec<Option<Box<dyn Guest>>>,
    host: Option<Box<dyn Host>>,
    saved: BTreeMap<String, Value>,
    /// The case that is run next, or, outside the calls, the one that a failure is blamed on.
    next: usize,
}

/// Why the rest of a fixture cannot run.
struct Stop {
    verdict: Verdict,
    message: String,
}

impl Execution<'_> {
    fn start(&mut self, runtime: &dyn Runtime) -> Result<(), Stop> {
        let host = self.guarded(|_| runtime.start())?;
        self.host = Some(host.map_err(|message| Stop::error(format!("no host: {message}")))?);
        Ok(())
    }

    fn plan(&mut self) -> Result<(), Stop> {
        match &self.fixture.plan {
            Plan::Link(case) => {
                let started = Instant::now();
                let linked = self.instantiate()?;
                let mut result = CaseResult::new(case, self.profile);
                result.duration = started.elapsed();
                let links = match linked {
                    Ok(guest) => {
                        self.guests.push(Some(guest));
                        "the module links".clone_into(&mut result.actual);
                        true
                    }
                    Err(InstantiateError::Unlinkable(text)) => {
                        "the module does not link".clone_into(&mut result.actual);
                        result.message = Some(text);
                        false
                    }
                    Err(error) => return Err(Stop::error(error.to_string())),
                };
                result.stable.clone_from(&result.actual);
                let wanted = case
                    .expectation
                    .under(self.profile)
                    .is_some_and(|accepted| accepted.contains(&Accept::Links));
                result.verdict = if links == wanted {
                    Verdict::Pass
                } else {
                    Verdict::Fail
                };
                (self.report)(0, result);
                Ok(())
            }
            Plan::Steps(actions) => {
                for _ in &self.fixture.instances {
                    let guest = self
                        .instantiate()?
                        .map_err(|error| Stop::error(error.to_string()))?;
                    self.guests.push(Some(guest));
                }
                self.steps(actions)
            }
        }
    }

    fn steps(&mut self, actions: &[Action]) -> Result<(), Stop> {
        let last = self.selected.last().copied().unwrap_or(0);
        let mut index = 0;
        for action in actions {
            if index > last {
                return Ok(());
            }
            self.next = index;
            match action {
                Action::Drop(instance) => {
                    let guest = self.guests.get_mut(*instance).and_then(Option::take);
                    self.guarded(|_| drop(guest))?;
                }
                Action::Instantiate(instance) => {
                    let guest = self
                        .instantiate()?
                        .map_err(|error| Stop::error(error.to_string()))?;
                    if let Some(slot) = self.guests.get_mut(*instance) {
                        *slot = Some(guest);
                    }
                }
                Action::Call(call) => {
                    self.call(index, call)?;
                    index += 1;
                }
            }
        }
        Ok(())
    }

    fn call(&mut self, index: usize, call: &Call) -> Result<(), Stop> {
        let accepted = call.case.expectation.under(self.profile);
        let selected = self.selected.contains(&index);
        let mut result = CaseResult::new(&call.case, self.profile);
        let mut args = Vec::new();
        for arg in &call.args {
            match arg {
                Arg::Value(value) => args.push(*value),
                Arg::Saved(name) => match self.saved.get(name) {
                    Some(value) => args.push(*value),
                    None => {
                        if selected {
                            result.verdict = Verdict::Error;
                            result.message = Some(format!(
                                "not run: an earlier step failed and gave no `${name}`"
                            ));
                            (self.report)(index, result);
                        }
                        return Ok(());
                    }
                },
            }
        }
        let Some(Some(mut guest)) = self.guests.get_mut(call.instance).map(Option::take) else {
            return Err(Stop::error(
                "the instance of this step does not exist".to_owned(),
            ));
        };
        // An older message would be quoted as the reason of a call that recorded none.
        let before = self.last_error(&mut guest);
        let started = Instant::now();
        let limit = self.limit;
        let outcome = self
            .guarded(|_| guest.call(&call.export, &args, limit))
            .unwrap_or_else(|stop| Outcome::Crashed(stop.message));
        result.duration = started.elapsed();
        result.verdict = match accepted {
            Some(accepted) => judge(accepted, &outcome),
            // Not judged here; still, nothing but a return is fine.
            None if matches!(outcome, Outcome::Returned(_)) => Verdict::Pass,
            None => judge(&[], &outcome),
        };
        result.actual = describe(&outcome);
        result.stable = describe_stably(accepted.unwrap_or_default(), &outcome);
        if let (Some(name), Outcome::Returned(values), Verdict::Pass) =
            (&call.save, &outcome, result.verdict)
        {
            self.saved
                .extend(values.first().map(|value| (name.clone(), *value)));
        }
        let crashed = matches!(outcome, Outcome::Crashed(_));
        if result.verdict == Verdict::Fail {
            result.last_error = self
                .last_error(&mut guest)
                .filter(|text| Some(text) != before.as_ref());
        }
        if crashed {
            // A host that panicked may panic again while it is torn down; what it holds is given up with the fixture.
            std::mem::forget(guest);
        } else if let Some(slot) = self.guests.get_mut(call.instance) {
            *slot = Some(guest);
        }
        let bad = result.verdict.is_bad();
        result.extra = !selected;
        if selected || (bad && accepted.is_none()) {
            (self.report)(index, result);
        }
        if crashed {
            self.next = index + 1;
            return Err(Stop::error(format!(
                "not run: the host crashed in `{}`",
                call.case.id
            )));
        }
        Ok(())
    }

    fn instantiate(&mut self) -> Result<Result<Box<dyn Guest>, InstantiateError>, Stop> {
        let (wasm, limit) = (&self.fixture.wasm, self.limit);
        self.guarded(|run| match &mut run.host {
            Some(host) => host.instantiate(wasm, limit),
            None => Err(InstantiateError::Failed("there is no host".to_owned())),
        })
    }

    /// The message that a failure is shown with; a runtime that panics over it has none.
    fn last_error(&mut self, guest: &mut Box<dyn Guest>) -> Option<String> {
        self.guarded(|_| guest.last_error()).ok().flatten()
    }

    /// Makes a call into the runtime: under the watch of the runner, and with panics caught.
    fn guarded<R>(&mut self, call: impl FnOnce(&mut Self) -> R) -> Result<R, Stop> {
        (self.mark)(Some(self.next));
        let result = catch_unwind(AssertUnwindSafe(|| call(self)));
        (self.mark)(None);
        result.map_err(|panic| Stop {
            verdict: Verdict::Crash,
            message: format!("the host panicked: {}", panic_text(&*panic)),
        })
    }

    /// The case at fault gets the verdict, everything after it an error.
    fn stop(&mut self, stop: &Stop) {
        let at_fault = self
            .selected
            .iter()
            .copied()
            .find(|index| *index >= self.next);
        if let (Verdict::Crash, Some(index)) = (stop.verdict, at_fault) {
            if let Some(case) = self.fixture.cases().nth(index) {
                let mut result = CaseResult::new(case, self.profile);
                result.verdict = Verdict::Crash;
                result.actual.clone_from(&stop.message);
                (self.report)(index, result);
            }
            self.next = index + 1;
            return self.rest(Verdict::Error, "not run: the host crashed before");
        }
        self.rest(Verdict::Error, &stop.message);
    }

    /// Gives every selected case from `next` on the same verdict.
    fn rest(&self, verdict: Verdict, message: &str) {
        for (index, case) in self.fixture.cases().enumerate() {
            if index >= self.next && self.selected.contains(&index) {
                let mut result = CaseResult::new(case, self.profile);
                result.verdict = verdict;
                result.message = Some(message.to_owned());
                (self.report)(index, result);
            }
        }
    }

    /// Ends the instances, then the host; a crash here is the last case's.
    fn end(&mut self) {
        let (guests, host) = (std::mem::take(&mut self.guests), self.host.take());
        let last = self.selected.last().copied().unwrap_or(0);
        self.next = last;
        let ended = self.guarded(|_| {
            drop(guests);
            drop(host);
        });
        if let (Err(stop), Some(case)) = (ended, self.fixture.cases().nth(last)) {
            let mut result = CaseResult::new(case, self.profile);
            result.verdict = Verdict::Crash;
            result.actual = format!("after the last step, {}", stop.message);
            (self.report)(last, result);
        }
    }
}

impl Stop {
    fn error(message: String) -> Stop {
        Stop {
            verdict: Verdict::Error,
            message,
        }
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("(no message)")
}
